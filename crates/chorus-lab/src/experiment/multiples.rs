//! Variants that multiply what the system has, so that one sweep fits the machine at every scale.

use chorus_system::{Entry, Scale, entries, resolve, scales};

use super::{Experiment, Variant};
use crate::document::{Document, DocumentError, did_you_mean, excerpt, nearest};

impl Experiment {
    /// Finds the values that variants multiply, and keeps the products as overrides.
    pub(super) fn find_multiples(&mut self, document: &Document<'_>) -> Result<(), DocumentError> {
        let variants = self.matrices.iter_mut().flat_map(|matrix| &mut matrix.variants);
        for variant in variants.filter(|variant| !variant.times.is_empty()) {
            let wrong = |message: String| {
                document.mistake(variant.name.span(), format!("variant `{}`: {message}", variant.name))
            };
            let no_system = |error| wrong(format!("no system to multiply a value of: {error}"));
            let name = variant.system.as_ref().unwrap_or(&self.system);
            let scales = match variant.scale {
                Some(scale) => vec![scale],
                None => scales(name).map_err(no_system)?,
            };
            for scale in scales {
                let system = resolve(name, scale, &[]).map_err(no_system)?;
                let products = multiply(variant, &entries(&system), scale).map_err(wrong)?;
                variant.multiples.insert(scale, products);
            }
        }
        Ok(())
    }
}

/// The products of a variant as overrides, or what is wrong with one.
fn multiply(variant: &Variant, system: &[Entry], scale: Scale) -> Result<Vec<String>, String> {
    let product = |(key, factor): (&String, &f64)| {
        let keys: Vec<&str> = system.iter().map(|entry| entry.key.as_str()).collect();
        let unknown = || format!("the system has no key `{}`{}", excerpt(key), did_you_mean(&nearest(key, &keys)));
        let value = &system.iter().find(|entry| entry.key == *key).ok_or_else(unknown)?.value;
        let number: u64 = value.parse().map_err(|_| format!("`{key}` is {value}, not a whole number to multiply"))?;
        let product = number as f64 * factor;
        if product >= 1.0 && product.fract() == 0.0 {
            Ok(format!("{key}={product}"))
        } else {
            let given = format!("{factor} times `{key}`, which is {number} at {scale} scale, is {product}");
            Err(format!("{given}; expected a whole number of at least 1"))
        }
    };
    variant.times.iter().map(product).collect()
}

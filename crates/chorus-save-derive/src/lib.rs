//! Derives of `chorus_protocol::save::Save` and `chorus_protocol::save::Restore`. What they write names the module
//! `save`, which must be in scope: `use chorus_protocol::save::{self, Save}`.
//!
//! Both take every field of a type, in the order of its declaration, so that no field is forgotten. A field that a
//! `Restore` leaves out says why: `#[save(built)]` is set by the construction of the value and never changes, and
//! `#[save(apart)]` is saved by somebody else. A field with `#[save(each)]` has as many elements as it was built with,
//! and each is restored in its place.

use proc_macro::TokenStream;
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, Error, Field, Fields, Generics, Ident, Index, Result, Type, parse_macro_input};

/// Implements `Save` for a struct or an enum, all of whose fields implement it.
#[proc_macro_derive(Save)]
pub fn derive_save(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    save(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Implements `Restore` for a struct.
#[proc_macro_derive(Restore, attributes(save))]
pub fn derive_restore(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    restore(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// The generics of a type, with the condition that the types of its fields implement a trait, where it has parameters
/// that are types.
fn bounded<'f>(generics: &Generics, fields: impl Iterator<Item = &'f Type>, bound: &str) -> Generics {
    let mut generics = generics.clone();
    if generics.type_params().next().is_some() {
        let bound = format_ident!("{bound}");
        let conditions = &mut generics.make_where_clause().predicates;
        fields.for_each(|of| conditions.push(syn::parse_quote!(#of: save::#bound)));
    }
    generics
}

/// The pattern that binds every field to a name, the value that these names make, and the names.
fn bindings(fields: &Fields) -> (proc_macro2::TokenStream, Vec<Ident>) {
    let names: Vec<Ident> = (0..fields.len()).map(|number| format_ident!("field_{number}")).collect();
    let members = fields.iter().zip(0u32..).map(|(field, number)| match &field.ident {
        Some(ident) => quote!(#ident),
        None => {
            let index = Index::from(number as usize);
            quote!(#index)
        }
    });
    (quote!({ #(#members: #names),* }), names)
}

fn save(input: &DeriveInput) -> Result<proc_macro2::TokenStream> {
    let variants: Vec<(proc_macro2::TokenStream, &Fields)> = match &input.data {
        Data::Struct(data) => vec![(quote!(Self), &data.fields)],
        Data::Enum(data) => {
            let variant = |variant: &'_ syn::Variant| {
                let ident = variant.ident.clone();
                quote!(Self::#ident)
            };
            data.variants.iter().map(|each| (variant(each), &each.fields)).collect()
        }
        Data::Union(data) => return Err(Error::new(data.union_token.span, "unions cannot be saved")),
    };
    let types = variants.iter().flat_map(|(_, fields)| fields.iter().map(|field| &field.ty));
    let generics = bounded(&input.generics, types, "Save");
    let is_enum = matches!(input.data, Data::Enum(_));
    let (mut saves, mut loads) = (Vec::new(), Vec::new());
    for ((variant, fields), number) in variants.iter().zip(0u8..) {
        let (pattern, names) = bindings(fields);
        let mark = is_enum.then(|| quote!(to.push(#number);));
        saves.push(quote!(#variant #pattern => { #mark #(save::Save::save(#names, to);)* }));
        let made = quote!({
            #(let #names = save::Save::load(from)?;)*
            ::core::result::Result::Ok(#variant #pattern)
        });
        loads.push(if is_enum { quote!(#number => #made) } else { made });
    }
    let load = match is_enum {
        false => quote!(#(#loads)*),
        true => quote!(match <u8 as save::Save>::load(from)? {
            #(#loads,)*
            _ => ::core::result::Result::Err(save::Damaged),
        }),
    };
    let (ident, (own, of, conditions)) = (&input.ident, generics.split_for_impl());
    Ok(quote! {
        impl #own save::Save for #ident #of #conditions {
            fn save(&self, to: &mut ::std::vec::Vec<u8>) {
                // A type without fields writes nothing.
                let _ = &to;
                match self { #(#saves)* }
            }

            fn load(from: &mut save::Reader<'_>) -> ::core::result::Result<Self, save::Damaged> {
                let _ = &from;
                #load
            }
        }
    })
}

/// How a field is saved.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    Whole,
    Each,
    LeftOut,
}

fn manner(field: &Field) -> Result<Manner> {
    let mut manner = Manner::Whole;
    for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("save")) {
        attribute.parse_nested_meta(|word| {
            manner = match () {
                () if word.path.is_ident("built") || word.path.is_ident("apart") => Manner::LeftOut,
                () if word.path.is_ident("each") => Manner::Each,
                () => return Err(word.error("one of built, apart and each is expected")),
            };
            Ok(())
        })?;
    }
    Ok(manner)
}

fn restore(input: &DeriveInput) -> Result<proc_macro2::TokenStream> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new(input.ident.span(), "only a struct is restored in its place"));
    };
    let manners: Vec<Manner> = data.fields.iter().map(manner).collect::<Result<_>>()?;
    let whole = data.fields.iter().zip(&manners).filter(|(_, manner)| **manner == Manner::Whole);
    let generics = bounded(&input.generics, whole.map(|(field, _)| &field.ty), "Restore");
    let (pattern, names) = bindings(&data.fields);
    let (mut keeps, mut restores) = (Vec::new(), Vec::new());
    for (name, manner) in names.iter().zip(&manners) {
        let (keep, restore) = match manner {
            Manner::Whole => (quote!(save::Restore::keep(#name, to);), quote!(save::Restore::restore(#name, from)?;)),
            Manner::Each => (
                quote!(#name.iter().for_each(|each| each.keep(to));),
                quote!(for each in #name.iter_mut() { each.restore(from)?; }),
            ),
            Manner::LeftOut => (quote!(let _ = #name;), quote!(let _ = #name;)),
        };
        keeps.push(keep);
        restores.push(restore);
    }
    let (ident, (own, of, conditions)) = (&input.ident, generics.split_for_impl());
    Ok(quote! {
        impl #own save::Restore for #ident #of #conditions {
            fn keep(&self, to: &mut ::std::vec::Vec<u8>) {
                use save::Restore as _;
                let Self #pattern = self;
                #(#keeps)*
            }

            fn restore(
                &mut self,
                from: &mut save::Reader<'_>,
            ) -> ::core::result::Result<(), save::Damaged> {
                use save::Restore as _;
                let Self #pattern = self;
                #(#restores)*
                ::core::result::Result::Ok(())
            }
        }
    })
}

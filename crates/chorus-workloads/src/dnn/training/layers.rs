//! The kernels of a training step that are no matrix products, each with its host reference.
//!
//! One work-item per element in work-groups of 64, as the tensor operators of MGPUSim's networks have it, except for
//! sums: the gradient of a bias takes a work-group of 128 per filter, the loss a wavefront per image, and the mean of a
//! plane a work-item, which reads the plane pixel by pixel.
//!
//! Arithmetic: 3 instructions per element for its index and the end, and the instructions that each kernel states.

use chorus_kernel::{Buf, Kernel, LANES, Lanes, Mask, Wave};

use crate::lane_sum::{group_sum, lane_sum, store_group_sum};

const LANES_U32: u32 = LANES as u32;
const WAVES_PER_GROUP: u32 = 2;
/// Wavefronts that sum the gradient of a bias.
const SUM_WAVES: u32 = 4;
/// Step size of the descent.
const RATE: f32 = 0.01;

/// A launch with one work-item per element.
fn elementwise<F: Future<Output = ()> + 'static>(
    name: &'static str,
    len: usize,
    body: impl Fn(Wave, Mask, Lanes<u32>) -> F + Send + Sync + 'static,
) -> Kernel {
    let work_groups = (len as u32).div_ceil(WAVES_PER_GROUP * LANES_U32);
    Kernel::new(name, work_groups, WAVES_PER_GROUP, move |w| {
        let at = w.global_ids();
        body(w, at.below(len as u32), at)
    })
}

fn rectified(output: f32, gradient: f32) -> f32 {
    if output > 0.0 { gradient } else { 0.0 }
}

/// Keeps a gradient where the output is positive; 2 instructions to compare and select.
pub fn rectified_gradient(output: Buf<f32>, gradient: Buf<f32>) -> Kernel {
    elementwise("rectify gradient", output.len(), move |w, inside, at| async move {
        w.alu(3).await;
        let (outputs, gradients) = w.join(w.load_where(inside, output, at), w.load_where(inside, gradient, at)).await;
        w.alu(2).await;
        w.store_where(inside, gradient, at, outputs.zip(gradients, rectified));
    })
}

/// The result of [`rectified_gradient`], computed on the host.
pub fn rectified_gradients(output: &[f32], gradient: &[f32]) -> Vec<f32> {
    output.iter().zip(gradient).map(|(&output, &gradient)| rectified(output, gradient)).collect()
}

/// The place of the window of 2 x 2 that a pixel is in. Pixels are numbered through all planes of `size` x `size`.
fn window_of(size: u32, pixel: u32) -> u32 {
    let (plane, row, column) = (pixel / (size * size), pixel / size % size, pixel % size);
    (plane * (size / 2) + row / 2) * (size / 2) + column / 2
}

fn of_greatest(input: f32, greatest: f32, gradient: f32) -> f32 {
    if input == greatest { gradient } else { 0.0 }
}

/// Gives the gradient of a window to the pixels that have its greatest value, a work-item per pixel; 6 instructions for
/// the window, 2 to compare and select. The networks of MGPUSim keep the place of the greatest value instead of
/// comparing again.
pub fn max_pool_gradient(size: u32, [input, output, gradient, result]: [Buf<f32>; 4]) -> Kernel {
    assert!(size.is_multiple_of(2), "windows of 2 x 2 divide planes of {size} x {size}");
    elementwise("max pool gradient", input.len(), move |w, inside, at| async move {
        w.alu(9).await;
        let window = at.map(|pixel| window_of(size, pixel));
        let loads = [(input, at), (output, window), (gradient, window)].map(|(buf, at)| w.load_where(inside, buf, at));
        let [inputs, outputs, gradients] = w.join_all(loads).await;
        w.alu(2).await;
        let values = Lanes::from_fn(|lane| of_greatest(inputs[lane], outputs[lane], gradients[lane]));
        w.store_where(inside, result, at, values);
    })
}

/// The result of [`max_pool_gradient`], computed on the host.
pub fn max_pool_gradients(size: u32, input: &[f32], output: &[f32], gradient: &[f32]) -> Vec<f32> {
    let window = |pixel: usize| window_of(size, pixel as u32) as usize;
    let value = |(pixel, &input)| of_greatest(input, output[window(pixel)], gradient[window(pixel)]);
    input.iter().enumerate().map(value).collect()
}

/// Takes the mean of each plane of some pixels; 2 instructions per pixel for the address and the sum, 1 for the mean.
pub fn average(planes: u32, pixels: u32, input: Buf<f32>, output: Buf<f32>) -> Kernel {
    elementwise("average pool", planes as usize, move |w, inside, plane| async move {
        w.alu(3).await;
        let mut sum = Lanes::splat(0.0);
        for pixel in 0..pixels {
            w.alu(2).await;
            sum = sum + w.load_where(inside, input, plane * pixels + pixel).await;
        }
        w.alu(1).await;
        w.store_where(inside, output, plane, sum / pixels as f32);
    })
}

/// The result of [`average`], computed on the host.
pub fn averages(pixels: u32, input: &[f32]) -> Vec<f32> {
    let mean = |plane: &[f32]| plane.iter().fold(0.0, |sum, pixel| sum + pixel) / pixels as f32;
    input.chunks_exact(pixels as usize).map(mean).collect()
}

/// Gives every pixel its share of the gradient of its plane; 2 instructions for the plane and the share.
pub fn average_gradient(pixels: u32, gradient: Buf<f32>, result: Buf<f32>) -> Kernel {
    elementwise("average pool gradient", result.len(), move |w, inside, at| async move {
        w.alu(3).await;
        let shares = w.load_where(inside, gradient, at / pixels).await / pixels as f32;
        w.alu(2).await;
        w.store_where(inside, result, at, shares);
    })
}

/// The result of [`average_gradient`], computed on the host.
pub fn average_gradients(pixels: u32, gradient: &[f32]) -> Vec<f32> {
    gradient.iter().flat_map(|gradient| vec![gradient / pixels as f32; pixels as usize]).collect()
}

/// Sums the gradients of the outputs of each filter, over all images and pixels; 3 instructions per element for its
/// image, its address and the sum.
pub fn bias_gradient([images, filters, pixels]: [u32; 3], gradient: Buf<f32>, result: Buf<f32>) -> Kernel {
    let body = move |w: Wave| async move {
        let filter = w.work_group();
        let mut sum = Lanes::splat(0.0);
        for first in (0..images * pixels).step_by((SUM_WAVES * LANES_U32) as usize) {
            let term = w.local_ids() + first;
            let inside = term.below(images * pixels);
            w.alu(3).await;
            let at = term.map(|term| (term / pixels * filters + filter) * pixels + term % pixels);
            sum = sum + w.load_where(inside, gradient, at).await;
        }
        store_group_sum(&w, sum, result, filter).await;
    };
    Kernel::new("bias gradient", filters, SUM_WAVES, body).lds(SUM_WAVES * 4)
}

/// The result of [`bias_gradient`], computed on the host.
pub fn bias_gradients([images, filters, pixels]: [u32; 3], gradient: &[f32]) -> Vec<f32> {
    let sum_of = |filter: u32| {
        let mut sums = [[0.0; LANES]; SUM_WAVES as usize];
        for term in 0..images * pixels {
            let item = (term % (SUM_WAVES * LANES_U32)) as usize;
            let at = (term / pixels * filters + filter) * pixels + term % pixels;
            sums[item / LANES][item % LANES] += gradient[at as usize];
        }
        group_sum(&sums)
    };
    (0..filters).map(sum_of).collect()
}

/// The exponential function as a power with an exponent of 1024: the same bits on every machine.
fn exponential(x: f32) -> f32 {
    (0..10).fold(1.0 + x.max(-1000.0) / 1024.0, |power, _| power * power)
}

/// The derivative of the loss of an image with respect to the logit of a class.
fn derivative(exponential: f32, sum: f32, is_label: bool, images: u32) -> f32 {
    (exponential / sum - if is_label { 1.0 } else { 0.0 }) / images as f32
}

/// The gradient of the cross entropy of softmax and labels; per 32 logits 1 instruction for the greatest, 13 for the
/// exponential and the sum, 5 for the derivative, and 20 to find the greatest and the sum of all lanes.
pub fn loss_gradient(classes: u32, images: u32, [logits, gradient]: [Buf<f32>; 2], labels: Buf<u32>) -> Kernel {
    let body = move |w: Wave| async move {
        let image = w.work_group();
        let label = w.load_one(labels, image).await;
        let mut chunks = Vec::new();
        for first in (0..classes).step_by(LANES) {
            let class = w.lane_ids() + first;
            let inside = class.below(classes);
            w.alu(4).await;
            let values = w.load_where(inside, logits, class + image * classes).await;
            chunks.push((class, inside, values.select(inside, Lanes::splat(f32::NEG_INFINITY))));
        }
        let values = chunks.iter().flat_map(|(_, _, values)| values.0);
        let greatest = values.fold(f32::NEG_INFINITY, f32::max);
        w.alu(10).await;
        let mut sums = Lanes::splat(0.0);
        for (_, inside, values) in &mut chunks {
            w.alu(13).await;
            *values = values.map(|value| exponential(value - greatest)).select(*inside, Lanes::splat(0.0));
            sums = sums + *values;
        }
        w.alu(10).await;
        let sum = lane_sum(sums.0);
        for (class, inside, values) in chunks {
            w.alu(5).await;
            let result = values.zip(class, |value, class| derivative(value, sum, class == label, images));
            w.store_where(inside, gradient, class + image * classes, result);
        }
    };
    Kernel::new("loss gradient", images, 1, body)
}

/// The result of [`loss_gradient`], computed on the host.
pub fn loss_gradients(classes: u32, logits: &[f32], labels: &[u32]) -> Vec<f32> {
    let mut gradients = Vec::with_capacity(logits.len());
    for (logits, &label) in logits.chunks_exact(classes as usize).zip(labels) {
        let greatest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let powers: Vec<f32> = logits.iter().map(|logit| exponential(logit - greatest)).collect();
        let mut sums = [0.0; LANES];
        for (class, power) in powers.iter().enumerate() {
            sums[class % LANES] += power;
        }
        let (sum, images) = (lane_sum(sums), labels.len() as u32);
        let of_class = |(class, &power)| derivative(power, sum, class as u32 == label, images);
        gradients.extend(powers.iter().enumerate().map(of_class));
    }
    gradients
}

/// Moves parameters against the sum of their gradients of some slices; per slice 2 instructions for the address and the
/// sum, 1 for the parameter.
pub fn descend(parameters: Buf<f32>, gradients: Buf<f32>, slices: u32) -> Kernel {
    let slice_len = gradients.len() as u32 / slices;
    elementwise("update", parameters.len(), move |w, inside, at| async move {
        w.alu(3).await;
        let old = w.load_where(inside, parameters, at);
        let mut sum = Lanes::splat(0.0);
        for slice in 0..slices {
            w.alu(2).await;
            sum = sum + w.load_where(inside, gradients, at + slice * slice_len).await;
        }
        let old = old.await;
        w.alu(1).await;
        w.store_where(inside, parameters, at, old - sum * RATE);
    })
}

/// Does the update of [`descend`] on the host.
pub fn descend_reference(parameters: &mut [f32], gradients: &[f32], slices: usize) {
    let slice_len = gradients.len() / slices;
    for (at, parameter) in parameters.iter_mut().enumerate() {
        let sum = (0..slices).fold(0.0, |sum, slice| sum + gradients[slice * slice_len + at]);
        *parameter -= sum * RATE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_power_is_close_to_the_exponential_function() {
        for x in [-8.0_f32, -3.0, -1.0, -0.25, 0.0] {
            assert!((exponential(x) - x.exp()).abs() < 1e-3, "{x}");
        }
        assert_eq!(exponential(f32::NEG_INFINITY), 0.0);
    }

    #[test]
    fn the_gradient_of_the_loss_points_to_the_label_and_sums_to_zero() {
        let gradients = loss_gradients(3, &[0.0, 1.0, 2.0, 5.0, 5.0, 5.0], &[2, 0]);
        assert!(gradients[2] < 0.0 && gradients[0] > 0.0 && gradients[1] > gradients[0]);
        assert!((gradients[3] + 1.0 / 3.0).abs() < 1e-6);
        for image in gradients.chunks(3) {
            assert!(image.iter().sum::<f32>().abs() < 1e-6);
        }
    }

    #[test]
    fn the_greatest_pixel_of_a_window_gets_its_gradient() {
        let input = [1.0, 2.0, 7.0, 8.0, 3.0, 0.0, 9.0, 5.0, 4.0, 4.5, 0.0, 1.0, 0.5, 0.0, 2.0, 1.5];
        let gradients = max_pool_gradients(4, &input, &[3.0, 9.0, 4.5, 2.0], &[10.0, 20.0, 30.0, 40.0]);
        let passed: Vec<(usize, f32)> = gradients.into_iter().enumerate().filter(|(_, value)| *value != 0.0).collect();
        assert_eq!(passed, [(4, 10.0), (6, 20.0), (9, 30.0), (14, 40.0)]);
    }

    #[test]
    fn parameters_go_against_the_sum_of_all_slices() {
        let mut parameters = [1.0, 2.0];
        descend_reference(&mut parameters, &[10.0, 0.0, 5.0, -15.0, 0.0, 5.0], 2);
        assert_eq!(parameters, [1.0 - (10.0 - 15.0) * RATE, 2.0]);
    }
}

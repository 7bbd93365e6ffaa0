/// The 99 % quantile of Student's t distribution, from the tables; that of the normal distribution
/// beyond 30 degrees of freedom is approached by Cornish and Fisher's first terms.
pub(crate) fn t99(freedom: usize) -> f64 {
    match freedom {
        0 => f64::INFINITY,
        1..=30 => TABLE[freedom - 1],
        _ => {
            let z = crate::Z;
            z + (z.powi(3) + z) / (4.0 * freedom as f64)
        }
    }
}

const TABLE: [f64; 30] = [
    31.821, 6.965, 4.541, 3.747, 3.365, 3.143, 2.998, 2.896, 2.821, 2.764, 2.718_08, 2.681, 2.650,
    2.624, 2.602, 2.583, 2.567, 2.552, 2.539, 2.528, 2.518, 2.508, 2.500, 2.492, 2.485, 2.479,
    2.473, 2.467, 2.462, 2.457,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantile_falls_to_that_of_the_normal_distribution_without_a_jump() {
        let values: Vec<f64> = (1..200).map(t99).collect();
        assert!(values.windows(2).all(|pair| pair[1] < pair[0]));
        assert!((t99(40) - 2.423).abs() < 0.01 && (t99(120) - 2.358).abs() < 0.01);
    }
}

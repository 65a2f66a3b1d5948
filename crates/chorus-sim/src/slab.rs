//! A pool of values that are named by small integers and reused, so that the steady state allocates nothing.

/// Values of type `T`.
#[derive(Clone, Debug)]
pub struct Slab<T> {
    values: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab { values: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// Keeps a value.
    #[inline]
    pub fn insert(&mut self, value: T) -> u32 {
        match self.free.pop() {
            Some(id) => {
                self.values[id as usize] = value;
                id
            }
            None => {
                self.values.push(value);
                self.values.len() as u32 - 1
            }
        }
    }

    /// Gives up a value; its name may be used again.
    #[inline]
    pub fn remove(&mut self, id: u32) {
        self.free.push(id);
    }

    /// The value called `id`.
    #[inline]
    pub fn get(&self, id: u32) -> &T {
        &self.values[id as usize]
    }

    /// Every value that has not been given up, and its name.
    pub fn live(&self) -> impl Iterator<Item = (u32, &T)> {
        let mut given_up = vec![false; self.values.len()];
        self.free.iter().for_each(|&id| given_up[id as usize] = true);
        let kept = (0..).zip(&self.values).zip(given_up);
        kept.filter(|(_, given_up)| !given_up).map(|(value, _)| value)
    }

    /// Every value ever kept whose name has not been given to another, given up or not.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.values.iter()
    }

    /// The value called `id`, to change.
    #[inline]
    pub fn get_mut(&mut self, id: u32) -> &mut T {
        &mut self.values[id as usize]
    }
}

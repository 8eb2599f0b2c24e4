//! The cells of a band.

/// A value for each cell of the band.
pub(super) struct Grid<T> {
    cells: Vec<T>,
    width: usize,
    nothing: T,
}

impl<T: Copy> Grid<T> {
    pub(super) fn new(nothing: T, rows: usize, width: usize) -> Self {
        Self { cells: vec![nothing; rows * width], width, nothing }
    }

    pub(super) fn at(&self, row: usize, column: usize) -> T {
        self.cells.get(row * self.width + column).copied().unwrap_or(self.nothing)
    }

    pub(super) fn set(&mut self, row: usize, column: usize, value: T) {
        if let Some(cell) = self.cells.get_mut(row * self.width + column) {
            *cell = value;
        }
    }
}

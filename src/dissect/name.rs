//! The name of a shape, as users read it.

use super::layer::LayerKind;
use super::stack::Shape;

/// The layers of a shape by name, outermost first, with a peeled shell in brackets: `eth/ipv4/ah/ipv4`,
/// `[vxlan]/eth/ipv4/esp`. Empty for a shape without layers.
#[must_use]
pub fn stack_name(shape: Shape) -> String {
    let mut name = String::new();
    if let Some(shell) = LayerKind::from_number(shape.shell) {
        name.push('[');
        name.push_str(shell.name());
        name.push(']');
    }
    for position in (0..super::MAX_LAYERS as u32).rev() {
        let number = (shape.layers >> (position * 6) & 0x3f) as u8;
        if let Some(kind) = LayerKind::from_number(number) {
            if !name.is_empty() {
                name.push('/');
            }
            name.push_str(kind.name());
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(kinds: &[LayerKind], shell: u8) -> Shape {
        Shape { layers: kinds.iter().fold(0, |layers, kind| layers << 6 | *kind as u128), shell }
    }

    #[test]
    fn names_read_from_the_outside_in() {
        use LayerKind::{Ah, Esp, Ethernet, Ipv4, Vxlan};
        assert_eq!(stack_name(shape(&[Ethernet, Ipv4, Ah, Ipv4], 0)), "eth/ipv4/ah/ipv4");
        assert_eq!(stack_name(shape(&[Ethernet, Ipv4, Esp], Vxlan as u8)), "[vxlan]/eth/ipv4/esp");
        assert_eq!(stack_name(Shape::default()), "");
        assert_eq!(stack_name(shape(&[Ah; 20], 0)), ["ah"; 20].join("/"));
    }
}

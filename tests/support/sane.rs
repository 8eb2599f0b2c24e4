//! What holds for every stack, whatever the octets.

use spiglass::dissect::{MAX_LAYERS, Stack, StopCause};

/// What holds for every stack of a frame of which so many octets were captured.
pub fn sane(stack: &Stack, captured: usize) {
    assert!(stack.layers.len() <= MAX_LAYERS);
    assert!(stack.layers.iter().all(|layer| (layer.span.start + layer.span.bytes) as usize <= captured));
    assert!(stack.layers.windows(2).all(|pair| pair[0].span.start <= pair[1].span.start));
    assert!(stack.sas.iter().all(|sa| sa.offset as usize <= captured));
    assert!(stack.encapsulated.is_none_or(|index| index >= 1 && usize::from(index) < stack.ips.len()));
    if let Some(stop) = stack.stop
        && let StopCause::TooShort { needed, had, .. } = stop.cause
    {
        assert!(had < needed, "{stop:?}");
        assert!(had == 0 || (stop.offset + had) as usize <= captured, "{stop:?} of {captured}");
    }
    if let Some(trailer) = stack.trailer {
        assert!((trailer.start + trailer.bytes) as usize <= captured && trailer.bytes <= stack.trailer_bytes);
    }
}

/// A cut frame says the beginning of what the whole one says. Two things lie in the octets themselves: shells and
/// ESP-NULL, whose end may be missing, so a cut stack may end before what they lead to.
#[allow(dead_code)] // fuzzing looks at frames that nothing built, where a cut may leave a guess
pub fn beginning(cut: &Stack, whole: &Stack) {
    if cut.shape.shell != whole.shape.shell || cut.start != whole.start {
        return;
    }
    assert!(cut.layers.len() <= whole.layers.len(), "{cut:?}\n{whole:?}");
    assert!(cut.layers.iter().zip(&whole.layers).all(|(a, b)| a.kind == b.kind && a.span.start <= b.span.start));
    for (a, b) in cut.sas.iter().zip(&whole.sas) {
        assert_eq!((a.protocol, a.spi, a.offset, a.bytes), (b.protocol, b.spi, b.offset, b.bytes));
        assert!(!a.sequence_seen || a.sequence == b.sequence);
    }
    assert!(
        cut.ips.iter().zip(&whole.ips).all(|(a, b)| (a.src, a.dst, a.total_bytes) == (b.src, b.dst, b.total_bytes))
    );
    assert_eq!((cut.frame_bytes, cut.start), (whole.frame_bytes, whole.start));
}

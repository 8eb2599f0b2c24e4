//! The SA headers of a frame that is kept.

use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::analysis::observe::observation::SaSight;

/// SA headers of one frame. Most frames have one, which takes no allocation: tens of thousands are kept, and cloned, at once.
#[derive(Clone, Debug)]
pub(crate) enum KeptSights {
    One(SaSight),
    Several(Box<[SaSight]>),
}

impl From<&[SaSight]> for KeptSights {
    fn from(sights: &[SaSight]) -> Self {
        match sights {
            [only] => Self::One(*only),
            several => Self::Several(several.into()),
        }
    }
}

impl Deref for KeptSights {
    type Target = [SaSight];

    fn deref(&self) -> &[SaSight] {
        match self {
            Self::One(only) => std::slice::from_ref(only),
            Self::Several(several) => several,
        }
    }
}

impl DerefMut for KeptSights {
    fn deref_mut(&mut self) -> &mut [SaSight] {
        match self {
            Self::One(only) => std::slice::from_mut(only),
            Self::Several(several) => several,
        }
    }
}

impl PartialEq for KeptSights {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Serialize for KeptSights {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for KeptSights {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let sights: Box<[SaSight]> = Deserialize::deserialize(deserializer)?;
        Ok(sights.as_ref().into())
    }
}

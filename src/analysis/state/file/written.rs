//! A state as it is written to a file and read back.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::analysis::partial::Partial;
use crate::analysis::settings::Settings;
use crate::analysis::state::base::span::Span;
use crate::analysis::state::base::tables::Tables;
use crate::analysis::state::sa::candidates::Candidates;
use crate::analysis::state::sa::sas::Sas;
use crate::analysis::state::sa::sizes::Sizes;
use crate::analysis::state::traffic::copies::CopyWindow;
use crate::analysis::state::traffic::flows::Flows;
use crate::analysis::state::traffic::fragments::Fragments;
use crate::analysis::state::traffic::notices::Notices;
use crate::analysis::state::traffic::padding::EthernetPadding;
use crate::analysis::state::traffic::rates::Rates;
use crate::analysis::state::traffic::totals::Totals;
use crate::model::all_bits;

/// A state as it is written; caches are left out.
#[derive(Serialize, Deserialize)]
struct Written<'p> {
    #[serde(serialize_with = "all_bits")]
    settings: Cow<'p, Settings>,
    span: Cow<'p, Span>,
    tables: Cow<'p, Tables>,
    totals: Cow<'p, Totals>,
    sas: Cow<'p, Sas>,
    sizes: Cow<'p, Sizes>,
    rates: Cow<'p, Rates>,
    padding: Cow<'p, EthernetPadding>,
    copies: Cow<'p, CopyWindow>,
    notices: Cow<'p, Notices>,
    flows: Cow<'p, Flows>,
    fragments: Cow<'p, Fragments>,
    candidates: Cow<'p, Candidates>,
}

impl Serialize for Partial {
    /// The state should be settled.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Written {
            settings: Cow::Borrowed(self.settings()),
            span: Cow::Borrowed(&self.span),
            tables: Cow::Borrowed(&self.tables),
            totals: Cow::Borrowed(&self.totals),
            sas: Cow::Borrowed(&self.sas),
            sizes: Cow::Borrowed(&self.sizes),
            rates: Cow::Borrowed(&self.rates),
            padding: Cow::Borrowed(&self.padding),
            copies: Cow::Borrowed(&self.copies),
            notices: Cow::Borrowed(&self.notices),
            flows: Cow::Borrowed(&self.flows),
            fragments: Cow::Borrowed(&self.fragments),
            candidates: Cow::Borrowed(&self.candidates),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Partial {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let w = Written::deserialize(deserializer)?;
        super::sound::check(&w).map_err(serde::de::Error::custom)?;
        if !w.rates.is_sound(&w.settings) {
            return Err(serde::de::Error::custom("its time bins are not those of its settings"));
        }
        let mut read = Self::new(&w.settings);
        read.span = w.span.into_owned();
        read.tables = w.tables.into_owned();
        read.totals = w.totals.into_owned();
        read.sas = w.sas.into_owned();
        read.sizes = w.sizes.into_owned();
        read.rates = w.rates.into_owned();
        read.padding = w.padding.into_owned();
        read.copies = w.copies.into_owned();
        read.notices = w.notices.into_owned();
        read.flows = w.flows.into_owned();
        read.fragments = w.fragments.into_owned();
        read.candidates = w.candidates.into_owned();
        // Merging into an empty state gives tables and maps their room back, and changes nothing else.
        let mut whole = Self::new(&w.settings).merge(read).map_err(serde::de::Error::custom)?;
        whole.settle();
        Ok(whole)
    }
}

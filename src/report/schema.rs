//! JSON Schema (draft 2020-12) of each JSON output. The files are made from the model's types and their documentation, and committed.

/// The schemas by the word that names them on the command line.
pub const ALL: [(&str, &str); 7] = [
    ("report", include_str!("../../schema/report.json")),
    ("match", include_str!("../../schema/match.json")),
    ("diff", include_str!("../../schema/diff.json")),
    ("trials", include_str!("../../schema/trials.json")),
    ("calc", include_str!("../../schema/calc.json")),
    ("calc-model", include_str!("../../schema/calc-model.json")),
    ("calc-search", include_str!("../../schema/calc-search.json")),
];

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use schemars::generate::SchemaSettings;

    use super::ALL;
    use crate::model::pairs::MatchReport;
    use crate::model::report::Report;
    use crate::model::report::diff::DiffReport;
    use crate::model::trials::{Device, Replay, TrialsReport};
    use crate::model::vocabulary::{
        CalcSchema, DeviceSchema, DiffSchema, MatchSchema, ReportSchema, SearchSchema, TrialsSchema,
    };
    use crate::transform::calculation::Calculation;

    fn of<T: JsonSchema>(id: &str) -> String {
        let settings = SchemaSettings::draft2020_12().for_serialize();
        let mut schema = settings.into_generator().into_root_schema_for::<T>();
        schema.insert("title".to_owned(), id.into());
        serde_json::to_string_pretty(&schema).unwrap() + "\n"
    }

    /// `SPIGLASS_SCHEMA=write cargo test --lib schema` writes them anew.
    #[test]
    fn the_committed_schemas_are_those_of_the_model() {
        let now = [
            of::<Report>(ReportSchema::V1.name()),
            of::<MatchReport>(MatchSchema::V1.name()),
            of::<DiffReport>(DiffSchema::V1.name()),
            of::<TrialsReport>(TrialsSchema::V1.name()),
            of::<Calculation>(CalcSchema::V1.name()),
            of::<Device>(DeviceSchema::V1.name()),
            of::<Replay>(SearchSchema::V1.name()),
        ];
        for ((name, committed), now) in ALL.iter().zip(now) {
            if std::env::var_os("SPIGLASS_SCHEMA").is_some() {
                let path = format!("{}/schema/{name}.json", env!("CARGO_MANIFEST_DIR"));
                std::fs::write(path, &now).unwrap();
            } else {
                assert!(*committed == now, "schema/{name}.json is old: SPIGLASS_SCHEMA=write cargo test --lib schema");
            }
        }
    }
}

//! JSON Schema (draft 2020-12) of each JSON output. The files are made from the model's types and their documentation, and committed.

/// The schemas by the word that names them on the command line.
pub const ALL: [(&str, &str); 4] = [
    ("report", include_str!("../../schema/report.json")),
    ("match", include_str!("../../schema/match.json")),
    ("trials", include_str!("../../schema/trials.json")),
    ("calc", include_str!("../../schema/calc.json")),
];

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use schemars::generate::SchemaSettings;

    use super::ALL;
    use crate::model::pairs::MatchReport;
    use crate::model::report::Report;
    use crate::model::trials::TrialsReport;
    use crate::model::vocabulary::{CalcSchema, MatchSchema, ReportSchema};
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
            of::<TrialsReport>(crate::model::trials::SCHEMA),
            of::<Calculation>(CalcSchema::V1.name()),
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

//! Truth values as `strconv.ParseBool` reads them.

use super::quote::quote;

/// Reads a truth value; the error has Go's words.
pub fn parse(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(false),
        _ => Err(format!("strconv.ParseBool: parsing {}: invalid syntax", quote(text))),
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn only_the_forms_that_go_knows_are_truth_values() {
        assert!(["1", "t", "T", "TRUE", "true", "True"].iter().all(|it| parse(it) == Ok(true)));
        assert!(["0", "f", "F", "FALSE", "false", "False"].iter().all(|it| parse(it) == Ok(false)));
        for text in ["", "yes", "tRUE", " true"] {
            let error = format!("strconv.ParseBool: parsing {text:?}: invalid syntax");
            assert_eq!(parse(text), Err(error));
        }
    }
}

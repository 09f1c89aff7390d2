//! Schemas of the answer and of tools, in the dialects of all routes.

use serde_json::{Map, Value};

use crate::features::{Features, SchemaDialect, StructuredOutput, ToolSupport};
use crate::field_refusal::{FieldPath, RefusalList};
use crate::params::ChatParams;
use crate::params::thinking::OutputFormat;
use crate::params::tools::Tool;
use crate::schema_dialect::{self, SchemaSize, SchemaStrictness};

/// Anthropic takes at most this many strict tools.
const MAX_STRICT_TOOLS: usize = 20;

pub(super) fn check(chat: &ChatParams, features: &Features, refusals: &mut RefusalList) {
    if features.tools != ToolSupport::None {
        check_tools(chat, features, refusals);
    }
    if let Some(OutputFormat::JsonSchema { schema, .. }) = chat.output_format() {
        check_format(chat, schema, features, refusals);
    }
    if features.schema_dialects.contains(&SchemaDialect::Anthropic) {
        check_totals(chat, refusals);
    }
}

fn check_format(
    chat: &ChatParams,
    schema: &Map<String, Value>,
    features: &Features,
    refusals: &mut RefusalList,
) {
    let output = FieldPath::PARAMS.key("output_config");
    let place = output.key("format");
    match features.structured_output {
        StructuredOutput::None => {
            let message =
                "The model does not enforce a schema of its answer. Choose another model.";
            refusals.add_missing("structured_output", place, message);
            return;
        }
        StructuredOutput::WithoutTools if !chat.tools.is_empty() => {
            let message = "The model does not take a schema of its answer together with tools.";
            refusals.add_missing("structured_output_with_tools", place, message);
        }
        StructuredOutput::WithoutTools | StructuredOutput::WithTools => {}
    }
    // The encoders close the objects, too.
    let closed = schema_dialect::close_objects(schema);
    check_strictly(&closed, place.key("schema"), features, refusals);
}

fn check_tools(chat: &ChatParams, features: &Features, refusals: &mut RefusalList) {
    let tools = FieldPath::PARAMS.key("tools");
    for (index, tool) in chat.tools.iter().enumerate() {
        let tool_place = tools.index(index);
        let place = tool_place.key("input_schema");
        let schema = &tool.input_schema;
        // The input of a tool is always an object, whatever the dialect says.
        let structure = SchemaDialect::Server;
        check_in_dialect(
            schema,
            structure,
            SchemaStrictness::Lenient,
            place,
            refusals,
        );
        // Some rules of providers for tools hold for strict tools, too, but not for answers.
        for dialect in &features.schema_dialects {
            check_in_dialect(schema, *dialect, SchemaStrictness::Lenient, place, refusals);
        }
        if is_strict(tool) && features.strict_tools {
            check_strictly(schema, place, features, refusals);
        }
    }
}

fn check_strictly(
    schema: &Map<String, Value>,
    place: FieldPath<'_>,
    features: &Features,
    refusals: &mut RefusalList,
) {
    for dialect in &features.schema_dialects {
        check_in_dialect(schema, *dialect, SchemaStrictness::Strict, place, refusals);
    }
}

fn check_in_dialect(
    schema: &Map<String, Value>,
    dialect: SchemaDialect,
    strictness: SchemaStrictness,
    place: FieldPath<'_>,
    refusals: &mut RefusalList,
) {
    if refusals.is_full() {
        return;
    }
    for fault in schema_dialect::check(schema, dialect, strictness) {
        refusals.add_below(place, fault.pointer, fault.message);
    }
}

/// Limits of Anthropic over all strict schemas of a request. Each alone was checked before.
fn check_totals(chat: &ChatParams, refusals: &mut RefusalList) {
    let strict = || chat.tools.iter().filter(|tool| is_strict(tool));
    let tools = FieldPath::PARAMS.key("tools");
    if strict().count() > MAX_STRICT_TOOLS {
        let message = format!("The model takes at most {MAX_STRICT_TOOLS} strict tools");
        refusals.add(tools, message);
    }
    let format = chat.output_format().map(|format| {
        let OutputFormat::JsonSchema { schema, .. } = format;
        schema
    });
    let schemas = strict().map(|tool| &tool.input_schema).chain(format);
    let sizes: Vec<SchemaSize> = schemas.map(SchemaSize::of).collect();
    let is_reported = sizes.iter().any(|it| it.excess_for_anthropic().is_some());
    let total = sizes
        .into_iter()
        .fold(SchemaSize::default(), SchemaSize::plus);
    if let Some(message) = total.excess_for_anthropic()
        && !is_reported
    {
        refusals.add(tools, message);
    }
}

fn is_strict(tool: &Tool) -> bool {
    tool.strict == Some(true)
}

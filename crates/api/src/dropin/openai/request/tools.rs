//! Tools, the choice among them, and their calls and results.

use serde_json::{Map, Value, json};

use super::defaults::ConversionDefaults;
use super::fault::RequestFault;
use super::fields::{Fields, present_fields};
use super::parts;

const TOOL_ADVICE: &str = "Tools are functions that you run. Longshore runs no tools of providers.";
const CHOICE_ADVICE: &str = "Use none, auto, required, or one function by its name.";

/// Where the fields of a function are: Chat Completions nests them, Responses does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FunctionForm {
    Nested,
    Flat,
}

/// `tools`, `tool_choice` and `parallel_tool_calls`.
pub(super) fn put_tools(
    body: &mut Fields,
    form: FunctionForm,
    params: &mut Map<String, Value>,
) -> Result<(), RequestFault> {
    let place = body.path("tools");
    let tools = body.list("tools")?.unwrap_or_default();
    let tools = tools.into_iter().enumerate();
    let tools = tools.map(|(index, tool)| read_tool(tool, format!("{place}[{index}]"), form));
    let tools = tools.collect::<Result<Vec<Value>, _>>()?;
    let has_tools = !tools.is_empty();
    if has_tools {
        params.insert("tools".to_owned(), Value::Array(tools));
    }
    let is_single = body.boolean("parallel_tool_calls")? == Some(false);
    let choice = read_choice(body, form)?;
    // Without tools, these two say what happens anyway.
    let choice = choice.filter(|choice| has_tools || choice.is_forced());
    let choice = match choice {
        None if is_single && has_tools => Some(Choice::Auto),
        choice => choice,
    };
    if let Some(choice) = choice {
        params.insert("tool_choice".to_owned(), choice.into_value(is_single));
    }
    Ok(())
}

fn read_tool(value: Value, place: String, form: FunctionForm) -> Result<Value, RequestFault> {
    let mut tool = Fields::of(value, place)?;
    let kind = tool.required_text("type")?;
    if kind != "function" {
        return Err(RequestFault::unsupported_value(
            &tool.path("type"),
            TOOL_ADVICE,
        ));
    }
    match form {
        FunctionForm::Flat => read_function(tool),
        FunctionForm::Nested => {
            let path = tool.path("function");
            let function = tool.object("function")?;
            let function = function.ok_or_else(|| RequestFault::missing(&path))?;
            tool.finish()?;
            read_function(function)
        }
    }
}

fn read_function(mut function: Fields) -> Result<Value, RequestFault> {
    let name = function.required_text("name")?;
    let description = function.text("description")?;
    let no_arguments = || json!({"type": "object", "properties": {}});
    let schema = function.take("parameters").unwrap_or_else(no_arguments);
    let strict = function.boolean("strict")?;
    function.finish()?;
    Ok(Value::Object(present_fields([
        ("name", Some(json!(name))),
        ("description", description.map(Value::String)),
        ("input_schema", Some(schema)),
        ("strict", strict.map(Value::Bool)),
    ])))
}

enum Choice {
    Auto,
    Any,
    Tool(String),
    None,
}

impl Choice {
    const fn is_forced(&self) -> bool {
        match self {
            Self::Any | Self::Tool(_) => true,
            Self::Auto | Self::None => false,
        }
    }

    fn into_value(self, is_single: bool) -> Value {
        let (kind, name, is_single) = match self {
            Self::Auto => ("auto", None, is_single),
            Self::Any => ("any", None, is_single),
            Self::Tool(name) => ("tool", Some(name), is_single),
            Self::None => ("none", None, false),
        };
        Value::Object(present_fields([
            ("type", Some(json!(kind))),
            ("name", name.map(Value::String)),
            ("disable_parallel_tool_use", is_single.then(|| json!(true))),
        ]))
    }
}

fn read_choice(body: &mut Fields, form: FunctionForm) -> Result<Option<Choice>, RequestFault> {
    let path = body.path("tool_choice");
    let unsupported = || RequestFault::unsupported_value(&path, CHOICE_ADVICE);
    let Some(value) = body.take("tool_choice") else {
        return Ok(None);
    };
    if let Some(word) = value.as_str() {
        let choice = match word {
            "auto" => Choice::Auto,
            "required" => Choice::Any,
            "none" => Choice::None,
            _ => return Err(unsupported()),
        };
        return Ok(Some(choice));
    }
    let mut fields = Fields::of(value, path.clone())?;
    if fields.required_text("type")? != "function" {
        return Err(unsupported());
    }
    let mut named = match form {
        FunctionForm::Flat => fields,
        FunctionForm::Nested => {
            let function = fields.object("function")?;
            fields.finish()?;
            function.ok_or_else(unsupported)?
        }
    };
    let name = named.required_text("name")?;
    named.finish()?;
    Ok(Some(Choice::Tool(name)))
}

/// A call of an earlier answer. Arguments that are no JSON object are kept as text, as in answers.
pub(super) fn call_block(id: &str, name: &str, arguments: &str) -> Value {
    let input = match serde_json::from_str::<Map<String, Value>>(arguments) {
        Ok(input) => input,
        Err(_) if arguments.trim().is_empty() => Map::new(),
        Err(_) => Map::from_iter([("_raw".to_owned(), json!(arguments))]),
    };
    json!({"type": "tool_use", "id": id, "name": name, "input": input})
}

/// What a tool returned.
pub(super) fn result_block(
    id: &str,
    content: Value,
    place: &str,
    defaults: &ConversionDefaults,
) -> Result<Value, RequestFault> {
    let content = if content.is_string() {
        content
    } else {
        Value::Array(parts::content(content, place, defaults)?.into_blocks())
    };
    Ok(json!({"type": "tool_result", "tool_use_id": id, "content": content}))
}

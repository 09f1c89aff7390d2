//! `longshore completions SHELL`: a script that completes commands and options.

use std::fmt::Write as _;

use clap::{Arg, Args, Command, ValueEnum};

use crate::cli_error::CliResult;
use crate::exit_status::ExitStatus;
use crate::session::Session;

#[derive(Debug, Clone, Copy, Args)]
pub struct CompletionOptions {
    pub shell: ShellKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ShellKind {
    Bash,
    Zsh,
    Fish,
}

pub fn run(
    session: &Session,
    options: CompletionOptions,
    command: &Command,
) -> CliResult<ExitStatus> {
    session.printer.line(&render(options.shell, command))?;
    Ok(ExitStatus::Done)
}

pub fn render(shell: ShellKind, command: &Command) -> String {
    match shell {
        ShellKind::Bash => bash(command),
        // zsh runs completions of bash.
        ShellKind::Zsh => format!(
            "autoload -U +X bashcompinit && bashcompinit\n{}",
            bash(command)
        ),
        ShellKind::Fish => fish(command),
    }
}

fn bash(command: &Command) -> String {
    let mut script = String::from("_longshore() {\n  local words command\n");
    script.push_str("  command=\"${COMP_WORDS[1]}\"\n  case \"$command\" in\n");
    for subcommand in visible(command) {
        let words = words_of(subcommand).join(" ");
        let _written = writeln!(
            script,
            "    {}) words=\"{words}\" ;;",
            subcommand.get_name()
        );
    }
    let names: Vec<&str> = visible(command).map(Command::get_name).collect();
    let _written = writeln!(script, "    *) words=\"{}\" ;;\n  esac", names.join(" "));
    script.push_str("  [ \"$COMP_CWORD\" -eq 1 ] && words=\"");
    script.push_str(&names.join(" "));
    script.push_str("\"\n  local current=\"${COMP_WORDS[COMP_CWORD]}\"\n");
    script.push_str("  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n}\n");
    script.push_str("complete -o default -F _longshore longshore");
    script
}

fn fish(command: &Command) -> String {
    let mut lines = Vec::new();
    for subcommand in visible(command) {
        let name = subcommand.get_name();
        let about = subcommand.get_about().map(ToString::to_string);
        let about = about.unwrap_or_default().replace('\'', "");
        lines.push(format!(
            "complete -c longshore -n __fish_use_subcommand -f -a {name} -d '{about}'"
        ));
        for word in words_of(subcommand) {
            let line = match word.strip_prefix("--") {
                Some(option) => format!(
                    "complete -c longshore -n '__fish_seen_subcommand_from {name}' -l {option}"
                ),
                None => format!(
                    "complete -c longshore -n '__fish_seen_subcommand_from {name}' -a {word}"
                ),
            };
            lines.push(line);
        }
    }
    lines.join("\n")
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|it| !it.is_hide_set())
}

/// Its subcommands, then its long options and those of all commands.
fn words_of(command: &Command) -> Vec<String> {
    let names = visible(command).map(|it| it.get_name().to_owned());
    let options = command.get_arguments().filter_map(Arg::get_long);
    names.chain(options.map(|it| format!("--{it}"))).collect()
}

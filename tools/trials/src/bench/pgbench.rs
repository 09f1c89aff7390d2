//! Bare single-row inserts by pgbench: what PostgreSQL does without the service.

use std::fs;
use std::path::PathBuf;

use crate::harness::servers::postgres;
use crate::harness::{FailureContext as _, Result, ScratchFolder, TrialPostgresServer};

const DATABASE: &str = "bare";
/// Ids increase within each client, as the service's do: random ids would only slow it down.
const SCRIPT: &str = "\\set i :i + 1
\\set id :run * 1000000000000000 + :client_id * 1000000000000 + :i
insert into bare values (lpad(to_hex(:id::bigint), 32, '0')::uuid,
    '01890a5d-ac96-774b-8000-000000000001', '01890a5d-ac96-774b-8000-000000000002',
    '01890a5d-ac96-774b-8000-000000000003', 'svc-mock', now(), :body);
";

/// A table with rows as large as the service's.
#[derive(Debug)]
pub struct PgbenchInserts {
    script: PathBuf,
    log: PathBuf,
    run_number: u32,
}

impl PgbenchInserts {
    pub async fn create(postgres: &TrialPostgresServer, scratch: &ScratchFolder) -> Result<Self> {
        postgres.create_database(DATABASE).await?;
        let mut connection = postgres.connect(DATABASE).await?;
        let table = "create table bare (id uuid primary key, organization uuid not null,
            project uuid not null, api_key uuid not null, model text not null,
            created_at timestamptz not null, body bytea not null)";
        postgres::execute(&mut connection, table).await?;
        let script = scratch.join("bare.sql");
        fs::write(&script, SCRIPT).context("writing the pgbench script")?;
        Ok(Self {
            script,
            log: scratch.join("pgbench"),
            run_number: 0,
        })
    }

    /// Inserts per second with this many clients; `size` is the size of the body.
    pub async fn run(
        &mut self,
        postgres: &TrialPostgresServer,
        clients: u32,
        seconds: u64,
        size: usize,
    ) -> Result<f64> {
        self.run_number += 1;
        let digits = (0..size * 2).map(|_| char::from_digit(rand::random_range(0..16), 16));
        let body: String = digits.flatten().collect();
        let (port, run) = (postgres.port(), self.run_number);
        let arguments = format!(
            "-h 127.0.0.1 -p {port} -U postgres -n -M prepared -j 2 -c {clients} -T {seconds} \
             -D i=0 -D run={run} -D body=\\x{body} -f {} {DATABASE}",
            self.script.display()
        );
        let pgbench = postgres.installed_program("pgbench");
        let pgbench = pgbench.with_arguments(arguments.split_whitespace());
        let output = pgbench.run(&self.log).await?;
        parse_rate(&output).context(format!("no rate in: {output}"))
    }
}

/// `tps = 12345.678901 (without initial connection time)`
fn parse_rate(output: &str) -> Option<f64> {
    let line = output
        .lines()
        .find_map(|line| line.strip_prefix("tps = "))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_read_from_the_report() {
        let output =
            "latency average = 1.2 ms\ntps = 16866.250000 (without initial connection time)\n";
        assert_eq!(parse_rate(output), Some(16_866.25));
        assert_eq!(parse_rate("pgbench: error"), None);
    }
}

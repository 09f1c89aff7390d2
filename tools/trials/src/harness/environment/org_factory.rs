//! Creates many organizations quickly: copies of one, by SQL.
//!
//! Admin commands for a thousand organizations would start four thousand processes. A copy has
//! every row of the original, including its credit and the posting of that credit, with its own
//! ids and key.

use sqlx::PgConnection;
use uuid::Uuid;

use crate::harness::environment::databases::{CONTROL, SHARD};
use crate::harness::servers::postgres;
use crate::harness::{
    FailureContext as _, Result, TrialFailure, TrialOrganization, TrialPostgresServer,
};

/// The id of the `number`th copy: the time and the berth of the original, then the number.
const CREATE_COPY_ID_FUNCTION: &str = "
create function pg_temp.copy(original uuid, number bigint) returns uuid language sql immutable as $$
    select (left(replace(original::text, '-', ''), 19) || lpad(to_hex(number), 13, '0'))::uuid
$$";

const COPY_CONTROL_ROWS: &str = "
with copy as (
    select * from unnest($2::text[]) with ordinality copy (key, number)
), organization as (
    insert into control.organization
    select (jsonb_populate_record(original, jsonb_build_object(
        'id', pg_temp.copy(original.id, number),
        'name', original.name || ' copy ' || number))).*
    from control.organization original, copy where original.id = $1
), project as (
    insert into control.project
    select (jsonb_populate_record(original, jsonb_build_object(
        'id', pg_temp.copy(original.id, number),
        'organization_id', pg_temp.copy($1, number),
        'slug', original.slug || '-copy-' || number))).*
    from control.project original, copy where original.organization_id = $1
), api_key as (
    insert into control.api_key
    select (jsonb_populate_record(original, jsonb_build_object(
        'id', pg_temp.copy(original.id, number),
        'project_id', pg_temp.copy(original.project_id, number),
        'prefix', left(copy.key, 12),
        'digest', sha256(convert_to(copy.key, 'UTF8'))))).*
    from control.api_key original
    join control.project on project.id = original.project_id, copy
    where project.organization_id = $1
    returning 1
)
select count(*) from api_key";

const COPY_SHARD_ROWS: &str = "
with account as (
    insert into shard.account
    select (jsonb_populate_record(original, jsonb_build_object(
        'organization', pg_temp.copy($1, place)))).*
    from shard.account original, generate_series(1, $2) place where original.organization = $1
    returning 1
), posting as (
    insert into shard.posting
    select (jsonb_populate_record(original, jsonb_build_object(
        'organization', pg_temp.copy($1, place)))).*
    from shard.posting original, generate_series(1, $2) place where original.organization = $1
)
select count(*) from account";

/// Returns the original and `copies` copies of it.
pub async fn copy_organization(
    server: &TrialPostgresServer,
    original: TrialOrganization,
    copies: usize,
) -> Result<Vec<TrialOrganization>> {
    let digits = original.id.rsplit('_').next().unwrap_or_default();
    let id = Uuid::try_parse(digits).context("reading an organization's id")?;
    let keys: Vec<String> = (0..copies)
        .map(|_| format!("svc_sk_{:032x}", rand::random::<u128>()))
        .collect();

    let count = i64::try_from(copies).unwrap_or_default();
    let mut control = connect_with_copy_function(server, CONTROL).await?;
    let made = sqlx::query_scalar::<_, i64>(COPY_CONTROL_ROWS)
        .bind(id)
        .bind(&keys);
    let made = made.fetch_one(&mut control).await.context("copying keys")?;
    let mut shard = connect_with_copy_function(server, SHARD).await?;
    let accounts = sqlx::query_scalar::<_, i64>(COPY_SHARD_ROWS)
        .bind(id)
        .bind(count);
    let accounts = accounts.fetch_one(&mut shard).await;
    if (made, accounts.context("copying accounts")?) != (count, count) {
        return Err(TrialFailure::new("an organization was only partly copied"));
    }

    let copies = keys
        .into_iter()
        .enumerate()
        .map(|(place, key)| TrialOrganization {
            id: format!("org_{}", copied_id(id, place + 1)),
            shard: original.shard.clone(),
            api_key: key,
        });
    let copies: Vec<TrialOrganization> = copies.collect();
    Ok([vec![original], copies].concat())
}

/// A connection that has the function to copy an id.
pub async fn connect_with_copy_function(
    server: &TrialPostgresServer,
    database: &str,
) -> Result<PgConnection> {
    let mut connection = server.connect(database).await?;
    postgres::execute(&mut connection, CREATE_COPY_ID_FUNCTION).await?;
    Ok(connection)
}

/// The same id as [`CREATE_COPY_ID_FUNCTION`] makes.
fn copied_id(original: Uuid, number: usize) -> String {
    let kept: String = original.simple().to_string().chars().take(19).collect();
    format!("{kept}{number:013x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_keeps_time_and_berth() {
        let original = Uuid::from_u128(0x019b_76da_807b_774b_8051_2345_6789_abcd);
        assert_eq!(copied_id(original, 255), "019b76da807b774b80500000000000ff");
    }
}

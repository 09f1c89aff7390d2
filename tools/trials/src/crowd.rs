//! Many organizations, quickly: copies, by SQL, of one that admin commands made.
//!
//! A thousand organizations would take four thousand processes. A copy has every
//! row of the original, its credit and the posting of that credit included, under
//! ids and a key of its own.

use sqlx::PgConnection;
use uuid::Uuid;

use crate::failure::{During as _, Failure, Result};
use crate::organization::Organization;
use crate::stand::{CONTROL, SHARD, Stand};

/// The `number`th copy's id: the time and the berth of the original, and no chance.
pub const COPY: &str = "
create function pg_temp.copy(original uuid, number bigint) returns uuid language sql immutable as $$
    select (left(replace(original::text, '-', ''), 19) || lpad(to_hex(number), 13, '0'))::uuid
$$";

const CONTROL_ROWS: &str = "
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

const SHARD_ROWS: &str = "
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

/// The original and so many copies of it.
pub async fn around(
    stand: &Stand,
    original: Organization,
    copies: usize,
) -> Result<Vec<Organization>> {
    let digits = original.id.rsplit('_').next().unwrap_or_default();
    let id = Uuid::try_parse(digits).during("reading an organization's id")?;
    let keys: Vec<String> = (0..copies)
        .map(|_| format!("svc_sk_{:032x}", rand::random::<u128>()))
        .collect();

    let count = i64::try_from(copies).unwrap_or_default();
    let mut control = prepared(stand, CONTROL).await?;
    let made = sqlx::query_scalar::<_, i64>(CONTROL_ROWS)
        .bind(id)
        .bind(&keys);
    let made = made.fetch_one(&mut control).await.during("copying keys")?;
    let mut shard = prepared(stand, SHARD).await?;
    let accounts = sqlx::query_scalar::<_, i64>(SHARD_ROWS)
        .bind(id)
        .bind(count);
    let accounts = accounts.fetch_one(&mut shard).await;
    if (made, accounts.during("copying accounts")?) != (count, count) {
        return Err(Failure::new("an organization was copied in part"));
    }

    let copies = keys
        .into_iter()
        .enumerate()
        .map(|(place, key)| Organization {
            id: format!("org_{}", copied(id, place + 1)),
            shard: original.shard.clone(),
            key,
        });
    let copies: Vec<Organization> = copies.collect();
    Ok([vec![original], copies].concat())
}

/// A connection that knows how to copy an id.
async fn prepared(stand: &Stand, database: &str) -> Result<PgConnection> {
    let mut connection = stand.postgres.connect(database).await?;
    let function = sqlx::raw_sql(COPY).execute(&mut connection).await;
    function.during("making a function to copy with")?;
    Ok(connection)
}

/// What `COPY` says, on this side.
fn copied(original: Uuid, number: usize) -> String {
    let kept: String = original.simple().to_string().chars().take(19).collect();
    format!("{kept}{number:013x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_keeps_time_and_berth() {
        let original = Uuid::from_u128(0x019b_76da_807b_774b_8051_2345_6789_abcd);
        assert_eq!(copied(original, 255), "019b76da807b774b80500000000000ff");
    }
}

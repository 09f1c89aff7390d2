//! Hours of usage become days with the same sums; old hours and days leave.

use domain::id::{ApiKeyId, Berth, ProjectId};
use domain::time::{Clock as _, Timestamp, start_of_day};
use store::shard::fold::CountTable;
use store::shard::history::counts;
use store::view;
use test_support::database::TestDatabase;

use super::{days_ago, execute, read};

const ALL_SUMS: &str = "select concat_ws(' ', project, api_key, model, event,
        (hour at time zone 'UTC')::date, sum(count), sum(input_tokens), sum(output_tokens),
        sum(money), sum(realtime), sum(saved), sum(cached_tokens), sum(cache_write_tokens),
        sum(thinking_tokens), sum(cost))
    from shard.usage
    group by project, api_key, model, event, (hour at time zone 'UTC')::date order by 1";

struct CountFixture {
    database: TestDatabase,
    projects: [ProjectId; 3],
}

impl CountFixture {
    /// Counts of every hour of ten days, of three projects, two keys, two models and two events.
    async fn new() -> Self {
        let database = TestDatabase::new().await;
        let now = database.clock.now();
        let projects = [1, 2, 3].map(|n| ProjectId::new(now, Berth::new(1).unwrap(), n));
        for project in projects {
            let project = project.uuid();
            let last = start_of_day(now);
            execute(
                &database.shard.pool,
                format!(
                    "insert into shard.usage (project, hour, api_key, model, event, count,
                         input_tokens, output_tokens, money, realtime, saved, cached_tokens,
                         cache_write_tokens, thinking_tokens, cost)
                     select '{project}', '{last}'::timestamptz - n * interval '1 hour', key, model,
                         event, n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7, n + 8, n + 9
                     from generate_series(1, 240) n,
                         unnest(array['{key}'::uuid, '{other}'::uuid]) as key,
                         unnest(array['small', 'large']) as model,
                         unnest(array['loaded', 'succeeded']) as event;
                     insert into shard.callback_hour (project, hour, host, ending, class, count)
                     select '{project}', '{last}'::timestamptz - n * interval '1 hour', 'host',
                         'delivered', 1, n
                     from generate_series(1, 240) n",
                    key = ApiKeyId::new(now, Berth::new(1).unwrap(), 1).uuid(),
                    other = ApiKeyId::new(now, Berth::new(1).unwrap(), 2).uuid(),
                ),
            )
            .await;
        }
        Self { database, projects }
    }

    async fn sum_days_before(&self, before: Timestamp) {
        let shard = &self.database.shard;
        for project in self.projects {
            let from = Timestamp::UNIX_EPOCH;
            while let Some(hour) = counts::find_first_hour(shard, project, from, before)
                .await
                .unwrap()
            {
                counts::sum_day(shard, project, start_of_day(hour))
                    .await
                    .unwrap();
            }
        }
    }
}

#[tokio::test]
async fn hours_become_days_with_the_same_sums() {
    let fixture = CountFixture::new().await;
    let shard = &fixture.database.shard;
    let (before, since) = (
        start_of_day(days_ago(&fixture.database, 4)),
        start_of_day(days_ago(&fixture.database, 20)),
    );
    let sums = read(&shard.pool, ALL_SUMS).await;
    let page = || view::usage::list_daily(shard, fixture.projects[1], since, None, None);
    let shown = page().await.unwrap();
    fixture.sum_days_before(before).await;
    assert_eq!(read(&shard.pool, ALL_SUMS).await, sums);
    assert_eq!(page().await.unwrap(), shown);
    // Six days with one row for each key, model and event; four days with 24 times as many.
    let rows = "select count(*) from shard.usage group by project";
    let expected = (6 + 4 * 24) * 8;
    assert_eq!(
        read(&shard.pool, rows).await,
        format!("{expected} {expected} {expected}")
    );
    // Late counts of a day that is summed are added to it.
    let late = format!(
        "insert into shard.usage (project, hour, api_key, model, event, count, input_tokens,
             output_tokens)
         select project, hour + interval '3 hours', api_key, model, event, 7, 0, 0
         from shard.usage where hour < '{before}' and project = '{}'",
        fixture.projects[0].uuid()
    );
    execute(&shard.pool, late).await;
    let sums = read(&shard.pool, ALL_SUMS).await;
    fixture.sum_days_before(before).await;
    assert_eq!(read(&shard.pool, ALL_SUMS).await, sums);
    assert_eq!(
        read(&shard.pool, rows).await,
        format!("{expected} {expected} {expected}")
    );
}

#[tokio::test]
async fn old_counts_are_deleted_and_younger_ones_stay() {
    let fixture = CountFixture::new().await;
    let shard = &fixture.database.shard;
    let before = start_of_day(days_ago(&fixture.database, 4));
    for (table, name, per_hour) in [
        (CountTable::Usage, "usage", 8),
        (CountTable::Callback, "callback_hour", 1),
    ] {
        for project in fixture.projects {
            while counts::delete(shard, table, project, before, 100)
                .await
                .unwrap()
                == 100
            {}
        }
        let rows = format!("select count(*) from shard.{name} where hour >= '{before}'");
        let kept = 3 * 4 * 24 * per_hour;
        assert_eq!(read(&shard.pool, &rows).await, kept.to_string());
        let rows = format!("select count(*) from shard.{name}");
        assert_eq!(read(&shard.pool, &rows).await, kept.to_string());
    }
}

#[tokio::test]
async fn every_project_is_found_page_by_page() {
    let fixture = CountFixture::new().await;
    let shard = &fixture.database.shard;
    for table in [CountTable::Usage, CountTable::Callback] {
        let (mut after, mut found) = (None, Vec::new());
        loop {
            let page = counts::list_projects(shard, table, after, 2).await.unwrap();
            let Some(last) = page.last().copied() else {
                break;
            };
            found.extend(page);
            after = Some(last);
        }
        assert_eq!(found, fixture.projects);
    }
}

#[tokio::test]
async fn the_floor_only_rises() {
    let database = TestDatabase::new().await;
    let shard = &database.shard;
    let read = || async { counts::read_days_until(shard).await.unwrap() };
    assert_eq!(read().await, Timestamp::UNIX_EPOCH);
    for days in [9, 3, 5] {
        let until = start_of_day(days_ago(&database, days));
        counts::raise_days_until(shard, until).await.unwrap();
    }
    assert_eq!(read().await, start_of_day(days_ago(&database, 3)));
}

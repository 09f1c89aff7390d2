-- Two groups of the first project: one is completed, and one is still being loaded and processed.

create temporary table cargo_group as
select pg_temp.id(g.created_at, p.berth, p.number * 10 + g.number, 110) as id, p.organization, p.id as project,
    g.name, g.metadata, g.created_at, g.until, g.is_sealed
from project p cross join (values
    (1, 'replies-' || to_char(:'now'::timestamptz at time zone 'UTC' - interval '2 days', 'YYYY-MM-DD'), '{"source":"nightly export","owner":"support"}',
        :'now'::timestamptz - interval '2 days', :'now'::timestamptz - interval '1 day', true),
    (2, 'refund-letters', '{"campaign":"late parcels"}', :'now'::timestamptz - interval '3 hours', :'now'::timestamptz, false)
) as g (number, name, metadata, created_at, until, is_sealed)
where p.number in (1, 9);

-- At most 2,000 cargo each. A sealed group has only completed ones, so it is completed.
create temporary table member as
select * from (
    select g.id as group_id, row_number() over (partition by g.id order by c.id) - 1 as position, g.is_sealed, c.id, c.n,
        'ticket-' || c.n as custom_id, c.created_at, c.completed_at, c.success, c.input_tokens, c.output_tokens, c.held, c.charged, c.realtime
    from cargo_group g join priced_cargo c on c.project = g.project and c.created_at >= g.created_at and c.created_at < g.until
    where c.completed_at is not null or not g.is_sealed
) it where position < 2000;

insert into shard.cargo_group (id, organization, project, name, metadata, created_at, loaded_at, sealed_at, completed_at, total,
    succeeded, failed, next_position, next_number, input_tokens, output_tokens, held, charged, realtime, saved)
select g.id, g.organization, g.project, g.name, convert_to(g.metadata, 'UTF8'), g.created_at, max(m.created_at),
    case when g.is_sealed then max(m.created_at) end, case when g.is_sealed then max(m.completed_at) end, count(*),
    count(*) filter (where m.success), count(*) filter (where not m.success), count(*), count(m.completed_at) + 1,
    coalesce(sum(m.input_tokens) filter (where m.completed_at is not null), 0),
    coalesce(sum(m.output_tokens) filter (where m.completed_at is not null), 0),
    coalesce(sum(m.held) filter (where m.completed_at is null), 0), coalesce(sum(m.charged), 0), coalesce(sum(m.realtime), 0),
    coalesce(sum(greatest(m.realtime - m.charged, 0)), 0)
from cargo_group g join member m on m.group_id = g.id
group by g.id, g.organization, g.project, g.name, g.metadata, g.created_at, g.is_sealed;

insert into shard.group_member (group_id, position, custom_id_digest, load_digest, cargo)
select group_id, position, sha256(convert_to(custom_id, 'UTF8')), sha256(convert_to('load ' || n, 'UTF8')), id from member;

insert into shard.group_result (group_id, number, position, cargo)
select group_id, row_number() over (partition by group_id order by completed_at, id), position, id
from member where completed_at is not null;

insert into shard.group_failure (group_id, label, count, cargo)
select m.group_id, t.label, count(*), (array_agg(m.id order by m.id))[1]
from member m join shard.trouble t on t.cargo = m.id and t.kind = 'failed'
group by m.group_id, t.label;

update shard.cargo c set group_id = m.group_id, group_position = m.position from member m where c.id = m.id;
update shard.request r set custom_id = m.custom_id from member m where r.cargo = m.id;

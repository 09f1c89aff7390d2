-- Organizations, projects, keys, people and the audit log. Variables: those of tenants.sql, shard (any).
\set QUIET on
begin;
\ir tenants.sql

insert into control.organization (id, name, plan, berth, created_at)
select id, name, plan, berth, created_at from organization order by number;

insert into control.project (id, organization_id, slug, is_active, created_at)
select id, organization, slug, true, created_at from project order by number;

insert into control.api_key (id, project_id, name, prefix, digest, is_active, expires_at, last_used_at, created_at)
select id, project, name, left(secret, 12), sha256(convert_to(secret, 'UTF8')), works, expires_at,
    case when created_at < :'now'::timestamptz - used_ago then :'now'::timestamptz - used_ago end, created_at
from api_key order by number;
update control.api_key k set successor = next.id
from api_key old join api_key next on next.project = old.project and next.place = 1
where old.place = 4 and k.id = old.id;

-- They have no passwords: `longshored admin person link` creates a link for setting one.
create temporary table person as
select number, name, email, organization, role, is_operator, :'now'::timestamptz - interval '1 day' * days as created_at,
    pg_temp.id(:'now'::timestamptz - interval '1 day' * days, 0, number, 4) as id
from (values
    (1, 'Marta Lindgren', 'marta@operator.example', null::int, null, true, 80),
    (2, 'Jonas Weber', 'jonas.weber@nordlicht-retail.example', 1, 'owner', false, 74),
    (3, 'Clara Lindqvist', 'clara@nordlicht-retail.example', 1, 'developer', false, 70),
    (4, 'Tom Becker', 'tom.becker@nordlicht-retail.example', 1, 'viewer', false, 41),
    (5, 'Priya Nair', 'priya@kestrel-claims.example', 2, 'owner', false, 61),
    (6, 'Samuel Osei', 'samuel@kestrel-claims.example', 2, 'developer', false, 55),
    (7, 'Emma Dubois', 'emma@polyglot-press.example', 3, 'owner', false, 48),
    (8, 'Luca Moretti', 'luca@polyglot-press.example', 3, 'developer', false, 20),
    (9, 'Yuki Tanaka', 'yuki@juniper-labs.example', 4, 'owner', false, 33)
) as it (number, name, email, organization, role, is_operator, days);

insert into control.person (id, name, email, folded, is_operator, created_at)
select id, name, email, lower(email), is_operator, created_at from person order by number
on conflict (folded) do nothing;

insert into control.member (organization, person, role, created_at)
select o.id, p.id, p.role, p.created_at from person p join organization o on o.number = p.organization;

-- An open invitation.
insert into control.pass (digest, id, kind, organization, role, email, made_by, created_at, expires_at)
select sha256(convert_to('demo invitation', 'UTF8')), pg_temp.id(:'now'::timestamptz - interval '1 day', 0, 1, 5), 'invitation', o.id, 'developer',
    'nora.haddad@nordlicht-retail.example', p.id, :'now'::timestamptz - interval '1 day', :'now'::timestamptz + interval '6 days'
from organization o, person p where o.number = 1 and p.number = 2;

-- The audit log, in order of time.
insert into control.audit (at, person, who, address, organization, project, action, subject, detail)
select it.at, p.id, coalesce(p.email, 'console'), case when p.id is not null then '203.0.113.' || 10 + p.number end,
    it.organization, it.project, it.action, it.subject, it.detail
from (
    select created_at as at, 1 as person, id as organization, null::uuid as project, 'organization.created' as action,
        name as subject, 'plan ' || plan as detail from organization
    union all
    select p.created_at, m.number, p.organization, p.id, 'project.created', p.slug, ''
    from project p join person m on m.organization = p.organization_number and m.role = 'owner'
    union all
    select k.created_at, m.number, p.organization, p.id, 'key.created', k.name, left(k.secret, 12)
    from api_key k join project p on p.number = k.project_number
    join person m on m.organization = p.organization_number and m.role = 'owner'
    union all
    select k.expires_at, m.number, p.organization, p.id, 'key.rotated', k.name, 'overlap 24 hours'
    from api_key k join project p on p.number = k.project_number and k.place = 4
    join person m on m.organization = p.organization_number and m.role = 'owner'
    union all
    select m.created_at, o.number, org.id, null, 'member.invited', m.email, m.role
    from person m join person o on o.organization = m.organization and o.role = 'owner' and o.number <> m.number
    join organization org on org.number = m.organization
    union all
    select :'now'::timestamptz - interval '1 day' * d.days, 1, o.id, null, 'credit.added', d.reference, 'wire transfer'
    from organization o cross join (values (30.0, 'invoice-2026-1007'), (19.0, 'invoice-2026-1152'), (8.0, 'invoice-2026-1298')) d (days, reference)
    union all
    select :'now'::timestamptz - interval '3 hours', 1, null, null, 'provider.paused', 'gemini-main', 'provider account is out of credit (billing limit reached)'
    union all
    select :'now'::timestamptz - interval '4 days', m.number, p.organization, p.id, 'callbacks.resent', 'hooks.nordlicht-retail.example:443', 'after the receiver was down'
    from project p join person m on m.number = 3 where p.number = 1
) it left join person p on p.number = it.person
where it.at <= :'now'::timestamptz
order by it.at;

-- Invalidates the key caches of all nodes.
select pg_advisory_xact_lock(x'63686e67'::int) \gset
insert into control.change (kind, subject, at)
select 'organization', id, :'now'::timestamptz from organization
union all select 'project', id, :'now'::timestamptz from project
union all select 'key', id, :'now'::timestamptz from api_key;
commit;

-- Prints an active key of each project.
\pset tuples_only on
\pset format unaligned
\pset fieldsep ' '
select p.slug, k.secret from api_key k join project p on p.number = k.project_number where k.place = 1 order by p.number;

-- Deposits, settlements and accounts: one settlement for each organization and group of outcomes.

create temporary table settlement as
select organization, completed_at as at, batch, sum(charged)::bigint as charged, array_agg(id order by id) as cargo
from priced_cargo where charged > 0 group by organization, completed_at, batch;

create temporary table deposit as
select o.id as organization, d.number, o.created_at + interval '1 hour' as first_at, d.days, d.reference,
    -- Whole dollars, enough until the next deposit.
    (ceil((d.part * coalesce(s.charged, 0) + coalesce(h.held, 0) + 2000000000) / 1000000000.0) * 1000000000)::bigint as amount
from organization o
left join (select organization, sum(charged) as charged from settlement group by 1) s on s.organization = o.id
left join (select organization, sum(held) as held from priced_cargo where completed_at is null group by 1) h on h.organization = o.id
cross join (values (1, 30.0, 0.6, 'invoice-2026-1007'), (2, 19.0, 0.5, 'invoice-2026-1152'), (3, 8.0, 0.4, 'invoice-2026-1298'))
    as d (number, days, part, reference)
where o.shard = :'shard';

create temporary table posting as
select *, row_number() over (partition by organization order by at, kind, batch) as number,
    sum(credit) over (partition by organization order by at, kind, batch rows unbounded preceding)::bigint as balance
from (
    select organization, 'deposit' as kind, :'now'::timestamptz - interval '1 day' * days - interval '40 minutes' as at, amount as credit, 0::bigint as revenue,
        -amount as funding, null::uuid[] as cargo, reference, 'wire transfer' as note, null::uuid as batch
    from deposit
    union all
    select organization, 'settlement', at, -charged, charged, 0, cargo, null, null, batch from settlement
) it;

insert into shard.posting (organization, number, kind, at, credit, revenue, loss, funding, balance, cargo, reference, note)
select organization, number, kind, at, credit, revenue, 0, funding, balance, cargo, reference, note
from posting order by organization, number;

insert into shard.account (organization, opened_at, posted, held, postings, period, tokens_used, tokens_reserved)
select o.id, o.created_at, coalesce(p.posted, 0), coalesce(t.held, 0), coalesce(p.postings, 0),
    date_trunc('month', :'now'::timestamptz at time zone 'UTC')::date, coalesce(t.used, 0), coalesce(t.reserved, 0)
from organization o
left join (select organization, sum(credit) as posted, count(*) as postings from posting group by 1) p on p.organization = o.id
left join (
    select organization, sum(held) filter (where completed_at is null) as held,
        sum(least(input_tokens + output_tokens, reserved_tokens)) filter (where success and reserved_tokens > 0 and created_at >= month) as used,
        sum(reserved_tokens) filter (where completed_at is null and created_at >= month) as reserved
    from priced_cargo cross join (select date_trunc('month', :'now'::timestamptz at time zone 'UTC') at time zone 'UTC' as month) m group by 1
) t on t.organization = o.id
where o.shard = :'shard';

-- Who we are to an object store: a bucket that belongs to another installation is
-- never swept.

set local lock_timeout = '5s';

create table control.installation (
    one boolean primary key default true check (one),
    id uuid not null default gen_random_uuid()
);
insert into control.installation default values;

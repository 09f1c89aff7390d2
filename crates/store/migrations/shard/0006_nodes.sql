-- Processes that only serve are nodes too: they hold locks, and peers end their sessions when they
-- freeze. They claim nothing, and what one worker does for all is never their turn.

set local lock_timeout = '5s';

alter table shard.node
    add column works boolean not null default true;

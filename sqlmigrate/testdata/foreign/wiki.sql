-- A wiki: composite keys, links between pages, a redirect whose key is the page's.
CREATE TABLE page (page_id {unsigned}, page_namespace smallint NOT NULL, page_title varchar(100) NOT NULL, page_latest {unsignedref} NOT NULL, UNIQUE (page_namespace, page_title));
CREATE TABLE revision (rev_id {unsigned}, rev_page {unsignedref} NOT NULL, rev_actor {unsignedref} NOT NULL, rev_parent_id {unsignedref} DEFAULT NULL);
CREATE TABLE actor (actor_id {unsigned}, actor_name varchar(100) NOT NULL UNIQUE);
CREATE TABLE redirect (rd_from {unsignedref} NOT NULL PRIMARY KEY, rd_title varchar(100) NOT NULL);
CREATE TABLE pagelinks (pl_from {unsignedref} NOT NULL, pl_target {unsignedref} NOT NULL, PRIMARY KEY (pl_from, pl_target));
CREATE INDEX rev_page_actor ON revision (rev_page, rev_actor);
INSERT INTO actor (actor_name) VALUES ('Ada');
INSERT INTO page (page_namespace, page_title, page_latest) VALUES (0, 'Main', 1), (0, 'Old', 2);
INSERT INTO revision (rev_page, rev_actor) VALUES (1, 1), (2, 1);
INSERT INTO redirect VALUES (2, 'Main');
INSERT INTO pagelinks VALUES (1, 2);
-- after the move
INSERT INTO page (page_id, page_namespace, page_title, page_latest) VALUES ({a}, 1, 'New', {b});
INSERT INTO redirect VALUES ({a}, 'Main');
INSERT INTO pagelinks VALUES ({a}, {a});
-- before the way back
DELETE FROM pagelinks WHERE pl_from = {a};
DELETE FROM redirect WHERE rd_from = {a};
DELETE FROM page WHERE page_id = {a};

-- A monitor: keys that the program assigns, cascades over several levels, named constraints.
CREATE TABLE hosts (hostid bigint NOT NULL, proxyid bigint, host varchar(128) DEFAULT '' NOT NULL, PRIMARY KEY (hostid));
CREATE TABLE items (itemid bigint NOT NULL, hostid bigint NOT NULL, name varchar(128) DEFAULT '' NOT NULL, master_itemid bigint, PRIMARY KEY (itemid), CONSTRAINT c_items_1 FOREIGN KEY (hostid) REFERENCES hosts (hostid) ON DELETE CASCADE);
CREATE TABLE triggers (triggerid {key}, expression varchar(128) DEFAULT '' NOT NULL);
CREATE TABLE functions (functionid {key}, itemid bigint NOT NULL, triggerid {ref} NOT NULL, name varchar(12) DEFAULT '' NOT NULL, CONSTRAINT c_functions_1 FOREIGN KEY (itemid) REFERENCES items (itemid) ON DELETE CASCADE, CONSTRAINT c_functions_2 FOREIGN KEY (triggerid) REFERENCES triggers (triggerid) ON DELETE CASCADE);
CREATE TABLE trigger_depends (triggerdepid {key}, triggerid_down {ref} NOT NULL, triggerid_up {ref} NOT NULL, CONSTRAINT c_depends_1 FOREIGN KEY (triggerid_down) REFERENCES triggers (triggerid) ON DELETE CASCADE, CONSTRAINT c_depends_2 FOREIGN KEY (triggerid_up) REFERENCES triggers (triggerid) ON DELETE CASCADE);
CREATE UNIQUE INDEX depends_1 ON trigger_depends (triggerid_down, triggerid_up);
CREATE TABLE history (itemid bigint NOT NULL, clock integer DEFAULT 0 NOT NULL, value bigint DEFAULT 0 NOT NULL);
CREATE INDEX history_1 ON history (itemid, clock);
INSERT INTO hosts VALUES (10084, NULL, 'web');
INSERT INTO items VALUES (23252, 10084, 'load', NULL);
INSERT INTO triggers (expression) VALUES ('load > 5'), ('load > 9');
INSERT INTO functions (itemid, triggerid, name) VALUES (23252, 1, 'last');
INSERT INTO trigger_depends (triggerid_down, triggerid_up) VALUES (1, 2);
INSERT INTO history VALUES (23252, 1, 42);
-- after the move
INSERT INTO triggers (triggerid) VALUES ({a});
INSERT INTO functions (functionid, itemid, triggerid) VALUES ({b}, 23252, {a});
-- before the way back
DELETE FROM functions WHERE functionid = {b};
DELETE FROM triggers WHERE triggerid = {a};

-- A catalogue of music: integer keys throughout, credits, redirects, many references.
CREATE TABLE area (id {key}, name varchar(80) NOT NULL, parent {ref} REFERENCES area (id));
CREATE TABLE artist (id {key}, name varchar(80) NOT NULL, area {ref} REFERENCES area (id), edits_pending {ref} NOT NULL DEFAULT 0 CHECK (edits_pending >= 0));
CREATE TABLE artist_credit (id {key}, name varchar(80) NOT NULL, artist_count smallint NOT NULL);
CREATE TABLE artist_credit_name (artist_credit {ref} NOT NULL REFERENCES artist_credit (id) ON DELETE CASCADE, position smallint NOT NULL, artist {ref} NOT NULL REFERENCES artist (id), PRIMARY KEY (artist_credit, position));
CREATE TABLE release_group (id {key}, artist_credit {ref} NOT NULL REFERENCES artist_credit (id), name varchar(80) NOT NULL, UNIQUE (artist_credit, name));
CREATE TABLE album (id {key}, release_group {ref} NOT NULL REFERENCES release_group (id), barcode varchar(20));
CREATE TABLE track (id {key}, album {ref} NOT NULL REFERENCES album (id) ON DELETE CASCADE, position {ref} NOT NULL, name varchar(80) NOT NULL);
CREATE UNIQUE INDEX track_place ON track (album, position);
CREATE INDEX artist_in_area ON artist (area, name);
INSERT INTO area (name) VALUES ('World');
INSERT INTO area (name, parent) VALUES ('Europe', 1);
INSERT INTO artist (name, area) VALUES ('Ada', 2), ('Bob', NULL);
INSERT INTO artist_credit (name, artist_count) VALUES ('Ada & Bob', 2);
INSERT INTO artist_credit_name VALUES (1, 0, 1), (1, 1, 2);
INSERT INTO release_group (artist_credit, name) VALUES (1, 'First');
INSERT INTO album (release_group, barcode) VALUES (1, '4006381333931');
INSERT INTO track (album, position, name) VALUES (1, 1, 'One'), (1, 2, 'Two');
-- after the move
INSERT INTO artist (id, name) VALUES ({a}, 'Eve');
INSERT INTO artist_credit_name VALUES (1, 2, {a});
INSERT INTO area (id, name, parent) VALUES ({b}, 'Moon', 1);
-- before the way back
DELETE FROM area WHERE id = {b};
DELETE FROM artist_credit_name WHERE artist = {a};
DELETE FROM artist WHERE id = {a};

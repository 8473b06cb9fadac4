-- A shop: names that begin with id, a table of 1:1, a default that is no key, and a history that a trigger writes. The history keeps its own keys.
CREATE TABLE customer (id_customer {key}, email varchar(100) NOT NULL);
CREATE TABLE address (id_address {key}, id_customer {ref} NOT NULL, city varchar(60) NOT NULL, FOREIGN KEY (id_customer) REFERENCES customer (id_customer));
CREATE TABLE orders (id_order {key}, id_shop {ref} NOT NULL DEFAULT 0, id_customer {ref} NOT NULL, id_address_delivery {ref} NOT NULL, id_address_invoice {ref} NOT NULL, state varchar(20) NOT NULL DEFAULT 'new', FOREIGN KEY (id_customer) REFERENCES customer (id_customer));
CREATE TABLE order_invoice (id_order {ref} NOT NULL PRIMARY KEY, number varchar(20) NOT NULL, FOREIGN KEY (id_order) REFERENCES orders (id_order) ON DELETE CASCADE);
CREATE TABLE order_history (id_history {key}, id_order {ref} NOT NULL, state varchar(20) NOT NULL);
CREATE INDEX history_order ON order_history (id_order);
postgres: CREATE FUNCTION log_order() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO order_history (id_order, state) VALUES (NEW.id_order, NEW.state); RETURN NEW; END $$;
postgres: CREATE TRIGGER order_created AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION log_order();
postgres: CREATE TRIGGER order_changed AFTER UPDATE OF state ON orders FOR EACH ROW EXECUTE FUNCTION log_order();
mysql: CREATE TRIGGER order_created AFTER INSERT ON orders FOR EACH ROW INSERT INTO order_history (id_order, state) VALUES (NEW.id_order, NEW.state);
mysql: CREATE TRIGGER order_changed AFTER UPDATE ON orders FOR EACH ROW BEGIN IF NEW.state <> OLD.state THEN INSERT INTO order_history (id_order, state) VALUES (NEW.id_order, NEW.state); END IF; END;
sqlite: CREATE TRIGGER order_created AFTER INSERT ON orders BEGIN INSERT INTO order_history (id_order, state) VALUES (NEW.id_order, NEW.state); END;
sqlite: CREATE TRIGGER order_changed AFTER UPDATE OF state ON orders BEGIN INSERT INTO order_history (id_order, state) VALUES (NEW.id_order, NEW.state); END;
INSERT INTO customer (email) VALUES ('ada@example.com');
INSERT INTO address (id_customer, city) VALUES (1, 'London'), (1, 'Paris');
INSERT INTO orders (id_customer, id_address_delivery, id_address_invoice) VALUES (1, 1, 2);
INSERT INTO order_invoice VALUES (1, 'A-1');
-- after the move
INSERT INTO customer (id_customer, email) VALUES ({a}, 'bob@example.com');
INSERT INTO address (id_address, id_customer, city) VALUES ({a}, {a}, 'Rome'), ({b}, {a}, 'Oslo');
INSERT INTO orders (id_order, id_customer, id_address_delivery, id_address_invoice) VALUES ({a}, {a}, {a}, {b});
INSERT INTO order_invoice VALUES ({a}, 'A-2');
UPDATE orders SET state = 'paid' WHERE id_order = {a};
UPDATE orders SET state = 'sent' WHERE id_order = 1;
SELECT 1 FROM orders WHERE id_order = {a} AND id_shop = 0;
SELECT 1 FROM order_history WHERE id_history = 3 AND id_order = {a} AND state = 'paid';
SELECT 1 FROM order_history WHERE id_history = 4 AND id_order = 1 AND state = 'sent';
-- before the way back
DELETE FROM orders WHERE id_order = {a};
DELETE FROM address WHERE id_customer = {a};
DELETE FROM customer WHERE id_customer = {a};
DELETE FROM order_history WHERE id_history > 1;
UPDATE orders SET state = 'new' WHERE id_order = 1;
DELETE FROM order_history WHERE id_history > 1;
postgres: SELECT setval('order_history_id_history_seq', 1);
mysql: ALTER TABLE order_history AUTO_INCREMENT = 2;
sqlite: UPDATE sqlite_sequence SET seq = 1 WHERE name = 'order_history';

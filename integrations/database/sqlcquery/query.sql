-- name: CreateOrder :exec
INSERT INTO orders (id, parent) VALUES ($1, $2);

-- name: OrdersAfter :many
SELECT * FROM orders WHERE id > $1 ORDER BY id;

-- name: OrdersOf :many
SELECT * FROM orders WHERE id = ANY(@ids::bigint[]);

-- name: OrdersOfParent :many
SELECT * FROM orders WHERE parent = $1 ORDER BY id;

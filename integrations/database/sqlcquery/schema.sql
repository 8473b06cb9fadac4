CREATE TABLE orders (id bigint PRIMARY KEY, parent bigint);

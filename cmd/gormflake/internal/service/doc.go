// Package service is the HTTP interface of a generator: it issues IDs and takes
// them apart, and reports its layout, its workers and its health.
//
//	GET /v1/ids?count=n       {"ids":["…", …]}, by default one
//	GET /v1/ids/{id}?as=form  an ID taken apart; form is base32, base58 or base62, by default decimal
//	GET /v1/layout            the layout of the IDs
//	GET /v1/workers           who holds which worker, where there is a database
//	GET /readyz, /healthz     200, or 503 while no IDs can be issued
//	GET /livez                200
//	GET /metrics              for Prometheus
//	GET /openapi.json         all of this in OpenAPI
//
// Everything else is the page's. No request changes anything but the sequence
// of the generator. Errors are problems as in RFC 9457, with one sentence as their detail.
package service

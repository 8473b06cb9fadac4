package service

import (
	_ "embed"
	"net/http"
)

//go:embed openapi.json
var openAPIText []byte

// openAPI answers GET /openapi.json.
func openAPI(w http.ResponseWriter, r *http.Request) error {
	if _, _, err := parameter(r.URL.RawQuery, ""); err != nil {
		return err
	}
	writeText(w, http.StatusOK, jsonType, openAPIText)
	return nil
}

package api

import _ "embed"

//go:embed openapi.yaml
var openAPI []byte

// OpenAPI returns the description of the service (OpenAPI 3.0) as YAML. Callers must not change it.
func OpenAPI() []byte { return openAPI }

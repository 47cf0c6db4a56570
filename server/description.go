package server

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"
	"go.yaml.in/yaml/v3"

	"example.com/perks/api"
)

// description serves the OpenAPI document in both of its notations.
type description struct{ inJSON, inYAML []byte }

func newDescription() (*description, error) {
	var document map[string]any
	if err := yaml.Unmarshal(api.OpenAPI(), &document); err != nil {
		return nil, fmt.Errorf("reading the embedded API description: %w", err)
	}
	inJSON, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("writing the API description as JSON: %w", err)
	}
	return &description{inJSON: inJSON, inYAML: api.OpenAPI()}, nil
}

func (d *description) json(c echo.Context) error {
	return c.Blob(http.StatusOK, echo.MIMEApplicationJSON, d.inJSON)
}

func (d *description) yaml(c echo.Context) error {
	return c.Blob(http.StatusOK, "application/yaml", d.inYAML)
}

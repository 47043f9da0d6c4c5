// Package dashboard checks the dashboard of metrics/prometheus against the schema
// that Grafana publishes: a field that Grafana does not know, or one of the wrong
// type, would be ignored when the dashboard is opened. Run it with make dashboard.
//
// The schema (schema.json) is generated from Grafana's own types, see dashboard.ts.
package dashboard

import (
	"bytes"
	_ "embed"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:embed schema.json
var schema []byte

// Check returns an error that lists the places where a dashboard in JSON differs
// from Grafana's schema.
func Check(dashboard []byte) error {
	const name = "schema.json"
	types, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return err
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(name, types); err != nil {
		return err
	}
	compiled, err := compiler.Compile(name)
	if err != nil {
		return err
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(dashboard))
	if err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	return compiled.Validate(document)
}

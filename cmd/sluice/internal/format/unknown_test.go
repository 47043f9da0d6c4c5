package format

import "testing"

func TestUnknown(t *testing.T) {
	names := []string{"lab", "doctor", "watch", "version"}
	for name, want := range map[string]string{
		"dcotor":    `unknown command "dcotor": did you mean "doctor"?`,
		"doc":       `unknown command "doc": did you mean "doctor"?`,
		"LAB":       `unknown command "LAB": did you mean "lab"?`,
		"versions":  `unknown command "versions": did you mean "version"?`,
		"w":         `unknown command "w" (want lab, doctor, watch, version)`,
		"frobnicat": `unknown command "frobnicat" (want lab, doctor, watch, version)`,
		"":          `unknown command "" (want lab, doctor, watch, version)`,
	} {
		if got := Unknown("command", name, names).Error(); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}

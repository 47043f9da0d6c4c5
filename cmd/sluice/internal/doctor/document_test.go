package doctor

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// document is what users read about the JSON form, the findings and the
// remedies.
var document = filepath.Join("..", "..", "..", "..", "docs", "doctor.md")

// TestDocument: the document lists every field of the JSON form, every kind of
// finding and every remedy, and no other. A field that disappears or changes its
// meaning needs a new Schema.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[reflect.Type]bool)
	fields := slices.Concat(fieldsOf(reflect.TypeFor[Diagnosis](), seen), fieldsOf(reflect.TypeFor[Comparison](), seen))
	for _, test := range []struct {
		heading string
		want    []string
	}{
		{"## The JSON form", fields},
		{"## Findings", constants(t, "Kind")},
		{"## Remedies", constants(t, "RemedyName")},
	} {
		listed := rowsBelow(string(text), test.heading)
		for _, name := range test.want {
			if !slices.Contains(listed, name) {
				t.Errorf("%s: `%s` is not listed below %q", document, name, test.heading)
			}
		}
		for _, name := range listed {
			if !slices.Contains(test.want, name) {
				t.Errorf("%s: `%s` is listed below %q, but does not exist", document, name, test.heading)
			}
		}
	}
}

var firstCell = regexp.MustCompile("^\\| ((?:`[^`]+`(?:, )?)+) \\|")

// rowsBelow returns the names in the first column of the tables below a heading.
func rowsBelow(text, heading string) (names []string) {
	_, text, _ = strings.Cut(text, "\n"+heading+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	for line := range strings.Lines(text) {
		if cell := firstCell.FindStringSubmatch(line); cell != nil {
			for name := range strings.SplitSeq(cell[1], ", ") {
				names = append(names, strings.Trim(name, "`"))
			}
		}
	}
	return names
}

// fieldsOf returns the fields of a type and of the types in it, such as
// "place.file". The map is documented by package livepage.
func fieldsOf(t reflect.Type, seen map[reflect.Type]bool) (fields []string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t.PkgPath() != reflect.TypeFor[Diagnosis]().PkgPath() || seen[t] {
		return nil
	}
	seen[t] = true
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.IsExported() {
			continue
		}
		if name != "" {
			fields = append(fields, strings.ToLower(t.Name())+"."+name)
		}
		fields = append(fields, fieldsOf(field.Type, seen)...)
	}
	return fields
}

// constants returns the values of the package's string constants of a type.
func constants(t *testing.T, typeName string) (values []string) {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || fmt.Sprint(spec.Type) != typeName {
				return true
			}
			for _, v := range spec.Values {
				if literal, ok := v.(*ast.BasicLit); ok {
					text, err := strconv.Unquote(literal.Value)
					if err != nil {
						t.Fatal(err)
					}
					values = append(values, text)
				}
			}
			return true
		})
	}
	return values
}

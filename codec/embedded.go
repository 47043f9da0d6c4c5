package codec

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
)

// A struct inherits the methods of embedded fields, including methods that encode them. So
// a struct with an embedded time.Time and a field Host is encoded as the time, as binary and
// as JSON, and Host is lost without an error.
//
// Reflection does not reveal whether a method is the struct's own, only whether an embedded
// field has it too. So a struct with a method of its own that hides an inherited one is
// rejected as well: the remedy is one line, and lost data cannot be restored.

// The methods that an encoding looks for.
var (
	ofBinary = []reflect.Type{reflect.TypeFor[encoding.BinaryAppender](), reflect.TypeFor[encoding.BinaryUnmarshaler]()}
	jsonSays = []reflect.Type{reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler]()}
	ofJSON   = append(jsonSays[:2:2], reflect.TypeFor[json.Unmarshaler](), reflect.TypeFor[encoding.TextUnmarshaler]())
)

// has reports whether t, or *t, has one of the methods.
func has(t reflect.Type, methods ...reflect.Type) bool {
	for _, m := range methods {
		if t.Implements(m) || reflect.PointerTo(t).Implements(m) {
			return true
		}
	}
	return false
}

// anyField reports whether a binary encoding should include a field, written whether JSON
// does.
func anyField(f reflect.StructField) bool { return f.Name != "_" }
func written(f reflect.StructField) bool {
	return (f.IsExported() || f.Anonymous) && f.Tag.Get("json") != "-"
}

// losing returns an error for a struct whose methods may be inherited from an embedded field,
// if it has another field for which counts returns true.
func losing(t reflect.Type, methods []reflect.Type, counts func(reflect.StructField) bool) error {
	for seen := map[reflect.Type]bool{}; t.Kind() == reflect.Struct && !seen[t]; {
		seen[t] = true
		only := t
		for _, m := range methods {
			if !has(t, m) {
				continue
			}
			for i := range t.NumField() {
				embedded := t.Field(i)
				if !embedded.Anonymous || !has(embedded.Type, m) {
					continue
				}
				for j := range t.NumField() {
					if other := t.Field(j); j != i && counts(other) {
						return fmt.Errorf("codec: encoding a %v may encode only the embedded %v and lose field %s: "+
							"give the embedded field a name, or set a Codec such as codec.Binary if its own methods encode all fields",
							t, embedded.Type, other.Name)
					}
				}
				only = embedded.Type
			}
		}
		if t = only; t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
	}
	return nil
}

// losingJSON is like losing, for all types that JSON reaches from t. It does not see the
// values of interfaces.
func losingJSON(t reflect.Type, seen map[reflect.Type]bool) error {
	if seen[t] {
		return nil
	}
	seen[t] = true
	if err := losing(t, ofJSON, written); err != nil || has(t, jsonSays...) && t.Kind() != reflect.Pointer {
		return err // its methods encode it
	}
	switch t.Kind() {
	case reflect.Map:
		if err := losingJSON(t.Key(), seen); err != nil {
			return err
		}
		return losingJSON(t.Elem(), seen)
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return losingJSON(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); written(f) {
				if err := losingJSON(f.Type, seen); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

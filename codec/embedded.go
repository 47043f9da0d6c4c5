package codec

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
)

// A struct has the methods of what it embeds, also those that say how that is written.
// So a struct that embeds a time.Time and has a Host is written as the time: by both
// forms, with no error, and the Host is lost.
//
// Whether a method is the struct's own cannot be asked, only whether an embedded field
// has it too. So a struct that has both, an own method and one that it hides, is refused
// with the others: what that costs is a line, what a loss costs is not known.

// What a form asks values for.
var (
	ofBinary = []reflect.Type{reflect.TypeFor[encoding.BinaryAppender](), reflect.TypeFor[encoding.BinaryUnmarshaler]()}
	jsonSays = []reflect.Type{reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler]()}
	ofJSON   = append(jsonSays[:2:2], reflect.TypeFor[json.Unmarshaler](), reflect.TypeFor[encoding.TextUnmarshaler]())
)

// has tells whether a t, or the pointer to it, has one of the methods.
func has(t reflect.Type, methods ...reflect.Type) bool {
	for _, m := range methods {
		if t.Implements(m) || reflect.PointerTo(t).Implements(m) {
			return true
		}
	}
	return false
}

// anyField is what a binary form should write, written what JSON would.
func anyField(f reflect.StructField) bool { return f.Name != "_" }
func written(f reflect.StructField) bool {
	return (f.IsExported() || f.Anonymous) && f.Tag.Get("json") != "-"
}

// losing refuses a struct whose methods may be those of an embedded field, if it has
// another field that counts.
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
						return fmt.Errorf("codec: a %v may be written as the %v that it embeds, and its field %s be lost: "+
							"give that a name instead of embedding it, or say which Codec, such as codec.JSON or codec.Binary, if all of it is written by methods of its own",
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

// losingJSON is losing for all that JSON reaches from t by its type. What is behind an
// interface is not known.
func losingJSON(t reflect.Type, seen map[reflect.Type]bool) error {
	if seen[t] {
		return nil
	}
	seen[t] = true
	if err := losing(t, ofJSON, written); err != nil || has(t, jsonSays...) && t.Kind() != reflect.Pointer {
		return err // its methods write all of it
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

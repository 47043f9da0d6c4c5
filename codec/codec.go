// Package codec encodes values for channels on disk (package spill) and on servers (package
// jetstream).
//
// It contains encodings based on the standard library. Storing and sending the bytes is up
// to the channels.
package codec

import (
	"encoding"
	"encoding/json"
	"errors"
	"reflect"
)

// A Codec encodes and decodes values of type T. It must be safe for concurrent use.
type Codec[T any] interface {
	// Name identifies the encoding, by 1 to 64 bytes of printable ASCII. Channels store
	// the name with the values, and refuse to read values with another name. Codecs
	// that cannot decode each other's bytes must have different names, and the name of
	// an encoding must never change.
	Name() string
	// Append appends the encoded v to b and returns the extended slice, like the
	// built-in append. If it returns an error, it must leave the bytes of b unchanged,
	// and the returned slice is ignored. It must not retain b.
	Append(b []byte, v T) ([]byte, error)
	// Decode returns the value that was encoded as b. b is exactly the bytes that Append
	// added. The value must not share memory with b, which is reused. If Decode returns
	// an error, the value is ignored.
	Decode(b []byte) (T, error)
}

// Default returns the codec that channels use by default. It depends only on T:
//
//   - []byte and string: "raw", the bytes themselves. Nil and empty slices have the same
//     encoding, which is decoded as nil.
//   - Types with the methods AppendBinary and, on the pointer, UnmarshalBinary
//     ([encoding.BinaryAppender], [encoding.BinaryUnmarshaler]), such as [time.Time] and
//     [net/netip.Addr], and pointers to such types: "binary", which calls these methods.
//     Encoding a nil pointer is an error.
//   - All other types: "json"; see [JSON].
//
// A named type whose underlying type is []byte or string belongs to one of the last two
// groups, because it may have methods that encode it.
//
// Default returns an error if the encoding would silently lose fields. A struct that embeds
// a type with such methods, for example time.Time, inherits the methods, which encode the
// embedded field and none of the other fields. The same applies to types in which JSON finds
// such a struct at any depth, except behind an interface. To resolve the error, give the
// embedded field a name, or set a codec explicitly.
func Default[T any]() (Codec[T], error) {
	if c, ok := any(raw{}).(Codec[T]); ok {
		return c, nil
	}
	if c, ok := any(text{}).(Codec[T]); ok {
		return c, nil
	}
	t := reflect.TypeFor[T]()
	if _, ok := any(new(T)).(binaryForm); ok {
		return binary[T]{}, losing(t, ofBinary, anyField)
	}
	if t.Kind() == reflect.Pointer && t.Implements(reflect.TypeFor[binaryForm]()) {
		return pointed[T]{t.Elem()}, losing(t.Elem(), ofBinary, anyField)
	}
	return JSON[T](), losingJSON(t, map[reflect.Type]bool{})
}

// raw encodes []byte.
type raw struct{}

func (raw) Name() string                              { return "raw" }
func (raw) Append(b []byte, v []byte) ([]byte, error) { return append(b, v...), nil }
func (raw) Decode(b []byte) ([]byte, error)           { return append([]byte(nil), b...), nil }

// text is the same encoding, for string.
type text struct{}

func (text) Name() string                              { return "raw" }
func (text) Append(b []byte, v string) ([]byte, error) { return append(b, v...), nil }
func (text) Decode(b []byte) (string, error)           { return string(b), nil }

// A binaryForm has methods to encode and to decode it. Default uses them only if a type has
// both.
type binaryForm interface {
	encoding.BinaryAppender
	encoding.BinaryUnmarshaler
}

// Binary returns the codec "binary", which calls the methods of T. It is the default for
// most types with these methods. Use it for a struct that embeds a type with such methods,
// if its own methods encode all fields, which [Default] cannot know.
func Binary[T any, P interface {
	*T
	encoding.BinaryAppender
	encoding.BinaryUnmarshaler
}]() Codec[T] {
	return binary[T]{}
}

// binary encodes a T by the methods of T or *T.
type binary[T any] struct{}

func (binary[T]) Name() string { return "binary" }

func (binary[T]) Append(b []byte, v T) ([]byte, error) {
	return any(&v).(binaryForm).AppendBinary(b)
}

func (binary[T]) Decode(b []byte) (v T, err error) {
	err = any(&v).(binaryForm).UnmarshalBinary(b)
	return v, err
}

// pointed encodes the value that a T, a pointer, points to.
type pointed[T any] struct{ elem reflect.Type }

var errNil = errors.New("codec: cannot encode a nil pointer as binary")

func (pointed[T]) Name() string { return "binary" }

func (pointed[T]) Append(b []byte, v T) ([]byte, error) {
	if reflect.ValueOf(v).IsNil() {
		return b, errNil
	}
	return any(v).(binaryForm).AppendBinary(b)
}

func (p pointed[T]) Decode(b []byte) (T, error) {
	v := reflect.New(p.elem).Interface()
	if err := v.(binaryForm).UnmarshalBinary(b); err != nil {
		var none T
		return none, err
	}
	return v.(T), nil
}

// JSON returns the codec "json", for any T. It uses encoding/json, and so loses unexported
// fields, invalid UTF-8 in strings, and the fields beside an embedded field with methods for
// JSON or text. Append returns an error for values that JSON cannot encode, such as a func.
func JSON[T any]() Codec[T] { return asJSON[T]{} }

type asJSON[T any] struct{}

func (asJSON[T]) Name() string { return "json" }

func (asJSON[T]) Append(b []byte, v T) ([]byte, error) {
	encoded, err := json.Marshal(v)
	return append(b, encoded...), err
}

func (asJSON[T]) Decode(b []byte) (v T, err error) {
	err = json.Unmarshal(b, &v)
	return v, err
}

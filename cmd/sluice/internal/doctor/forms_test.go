package doctor

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// forms are those in which a diagnosis is written.
var forms = map[string]func(*Diagnosis, io.Writer) error{
	"text": (*Diagnosis).WriteText, "page": (*Diagnosis).WritePage, "json": (*Diagnosis).WriteJSON,
}

// notSaid is what not every form says, why, and which forms do. All else is in all of
// them: who adds to a diagnosis adds to each form, or to this list.
var notSaid = map[string]struct{ forms, why string }{
	"Schema":  {"json", "it is of that form"},
	"Verdict": {"json", "the answer begins with it, in words"},

	"Shares.Asleep":            {"json", "evidence says it where a finding is from it"},
	"Shares.SyncWait":          {"json", "likewise"},
	"Shares.GarbageCollection": {"json", "likewise"},
	"Shares.User":              {"json", "likewise"},
	"Shares.Wakeups":           {"json", "likewise"},
	"Shares.WakeupCores":       {"json", "likewise"},
	"Shares.Starved":           {"json", "what is not known says it in words"},

	"Findings.Kind":           {"json page", "the sentence below a heading on the page is the heading of the text"},
	"Findings.Channels":       {"json", "the answer says it"},
	"Findings.At":             {"json", "the sentence names it"},
	"Findings.Share":          {"json", "findings stand in the order of it"},
	"Findings.Minor":          {"json", "it has no remedy, and stands last"},
	"Findings.Needs":          {"json", "what is not known has it"},
	"Findings.Remedies.Basis": {"json page", "a terminal has no room for it"},

	"Operations.Parks":      {"json", "the time waited says more"},
	"Operations.ParksFrom":  {"json", "findings name it where one hangs on it"},
	"Operations.AsleepFrom": {"json", "likewise"},

	"Partners.Sender.Caller":   {"json", "operations say on whose behalf they are"},
	"Partners.Receiver.Caller": {"json", "likewise"},

	"Prices.Unbuffered":     {"json", "where prices are from is enough for people"},
	"Prices.Buffered":       {"json", "likewise"},
	"Prices.Contended":      {"json", "likewise"},
	"Prices.Batched":        {"json", "likewise"},
	"Prices.OwnSlices":      {"json", "likewise"},
	"Prices.Sharded":        {"json", "likewise"},
	"Prices.OneP":           {"json", "likewise"},
	"Prices.Wakeup":         {"json", "likewise"},
	"Prices.Case":           {"json", "likewise"},
	"Prices.Mutex":          {"json", "likewise"},
	"Prices.ContendedMutex": {"json", "likewise"},
}

// TestFormsSayTheSame changes each part of a diagnosis that has everything, one by one,
// and looks at which forms change.
func TestFormsSayTheSame(t *testing.T) {
	full := reflect.New(reflect.TypeFor[Diagnosis]()).Elem()
	filled := 0
	fill(full, &filled)
	d := full.Addr().Interface().(*Diagnosis)
	d.Partners[0].Sure = Seen
	asItIs := written(t, d)
	unused := maps.Clone(notSaid)
	eachPart(full, "", func(part string, v reflect.Value) {
		before := reflect.ValueOf(v.Interface())
		change(v)
		changed := written(t, d)
		v.Set(before)
		var saying []string
		for form := range forms {
			if changed[form] != asItIs[form] {
				saying = append(saying, form)
			}
		}
		slices.Sort(saying)
		want := "json page text"
		for name, only := range notSaid {
			if part == name || strings.HasPrefix(part, name+".") {
				want = only.forms
				delete(unused, name)
			}
		}
		if got := strings.Join(saying, " "); got != want {
			t.Errorf("%s is said by %q, and should be by %q", part, got, want)
		}
	})
	if len(unused) > 0 {
		t.Errorf("of what there is not: %v", slices.Collect(maps.Keys(unused)))
	}
}

func written(t *testing.T, d *Diagnosis) map[string]string {
	t.Helper()
	texts := make(map[string]string)
	for form, write := range forms {
		var b bytes.Buffer
		if err := write(d, &b); err != nil {
			t.Fatalf("%s: %v", form, err)
		}
		texts[form] = b.String()
	}
	return texts
}

// fill gives every exported field a value, each another one, and lists one element.
func fill(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), n)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), n)
			}
		}
	case reflect.String:
		v.SetString(fmt.Sprintf("word%d", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(1000 - *n)) // more in an operation than wait in it
	case reflect.Float64:
		v.SetFloat(1 + float64(*n)/1000)
	default:
		panic("fill: a " + v.Kind().String())
	}
}

// eachPart calls f with all that fill has given a value.
func eachPart(v reflect.Value, path string, f func(part string, v reflect.Value)) {
	switch v.Kind() {
	case reflect.Pointer:
		eachPart(v.Elem(), path, f)
	case reflect.Slice:
		eachPart(v.Index(0), path, f)
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			switch {
			case !field.IsExported():
			case field.Anonymous:
				eachPart(v.Field(i), path, f)
			default:
				eachPart(v.Field(i), strings.TrimPrefix(path+"."+field.Name, "."), f)
			}
		}
	default:
		f(path, v)
	}
}

// change makes another value of a part.
func change(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("other" + v.String())
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int64:
		v.SetInt(v.Int() - 1)
	case reflect.Float64:
		v.SetFloat(7 * v.Float())
	}
}

package args

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// For writes the JSON Schema of the struct type A, as [SchemaOf] does.
func For[A any]() json.RawMessage { return SchemaOf(reflect.TypeFor[A]()) }

// SchemaOf writes a compact JSON Schema for a Go struct type, properties in the order of the
// fields. Tags say the rest:
//
//	Path string `json:"path" doc:"relative to the workspace"`
//	From int    `json:"from,omitempty" doc:"first line" min:"1"`
//	Unit string `json:"unit,omitempty" enum:"metric,imperial"`
//
// A field with omitempty, omitzero or of a pointer type may be left out, every other is required. SchemaOf
// panics on a type that has no JSON form or a tag that makes no sense: both are mistakes
// in our own code, and a test that calls it once finds them.
func SchemaOf(t reflect.Type) json.RawMessage {
	return describe(nil, t, "", "")
}

func describe(b []byte, t reflect.Type, tag reflect.StructTag, path string) []byte {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	b = append(b, `{"type":"`...)
	switch t.Kind() {
	case reflect.String:
		b = append(b, `string"`...)
	case reflect.Bool:
		b = append(b, `boolean"`...)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		b = append(b, `integer"`...)
	case reflect.Float32, reflect.Float64:
		b = append(b, `number"`...)
	case reflect.Slice:
		b = append(b, `array","items":`...)
		b = describe(b, t.Elem(), "", path+"[]")
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			panic(fmt.Sprintf("args: %s: the keys of a map must be strings", path))
		}
		b = append(b, `object","additionalProperties":`...)
		b = describe(b, t.Elem(), "", path+"[]")
	case reflect.Struct:
		b = append(b, `object"`...)
		b = properties(b, t, path)
	default:
		panic(fmt.Sprintf("args: %s: no JSON Schema for %s", path, t))
	}
	return append(notes(b, t, tag, path), '}')
}

// properties writes what a schema says about the fields of a struct.
func properties(b []byte, t reflect.Type, path string) []byte {
	if strings.Count(path, ".") > depth {
		panic(fmt.Sprintf("args: %s contains itself", t))
	}
	b = append(b, `,"properties":{`...)
	var required []any
	first := true
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(AppendText(b, name), ':')
		b = describe(b, f.Type, f.Tag, path+"."+name)
		if f.Type.Kind() != reflect.Pointer && !strings.Contains(options, "omit") {
			required = append(required, name)
		}
	}
	b = append(b, '}')
	if len(required) > 0 {
		b = appendJSON(append(b, `,"required":`...), required, false)
	}
	return append(b, `,"additionalProperties":false`...)
}

// notes writes what the tags of a field add.
func notes(b []byte, t reflect.Type, tag reflect.StructTag, path string) []byte {
	if doc := tag.Get("doc"); doc != "" {
		b = AppendText(append(b, `,"description":`...), doc)
	}
	if words := tag.Get("enum"); words != "" {
		var list []any
		for word := range strings.SplitSeq(words, ",") {
			if t.Kind() == reflect.String {
				list = append(list, strings.TrimSpace(word))
			} else {
				list = append(list, tagNumber("enum", strings.TrimSpace(word), path))
			}
		}
		b = appendJSON(append(b, `,"enum":`...), list, false)
	}
	b = limit(b, t, tag, "min", path)
	return limit(b, t, tag, "max", path)
}

// limit writes a bound: of a number's value, or of a text's length.
func limit(b []byte, t reflect.Type, tag reflect.StructTag, name, path string) []byte {
	text, ok := tag.Lookup(name)
	if !ok {
		return b
	}
	keyword := map[string]string{"min": "minimum", "max": "maximum"}[name]
	if t.Kind() == reflect.String {
		if _, err := strconv.Atoi(text); err != nil {
			panic(fmt.Sprintf("args: %s: %s:%q is no length", path, name, text))
		}
		keyword = name + "Length"
	}
	b = append(b, `,"`+keyword+`":`...)
	return append(b, tagNumber(name, text, path)...)
}

func tagNumber(tag, text, path string) json.Number {
	n, ok := Number(text)
	if !ok {
		panic(fmt.Sprintf("args: %s: %s:%q is no number", path, tag, text))
	}
	return n
}

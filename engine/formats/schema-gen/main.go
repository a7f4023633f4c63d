// Command schema-gen prints the shapes of the built-in Kubernetes kinds, read by
// reflection from the Go types of the client library, in the format of
// ../src/kubernetes/schema.txt.
package main

import (
	"fmt"
	"os"
	"reflect"
	"runtime/debug"
	"sort"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
)

// Types that write their own JSON, and the letter the reader knows them by.
var special = map[reflect.Type]string{
	reflect.TypeFor[resource.Quantity]():                                "quantity",
	reflect.TypeFor[intstr.IntOrString]():                               "intorstring",
	reflect.TypeFor[metav1.Time]():                                      "time",
	reflect.TypeFor[metav1.MicroTime]():                                 "microtime",
	reflect.TypeFor[metav1.FieldsV1]():                                  "raw",
	reflect.TypeFor[runtime.RawExtension]():                             "raw",
	reflect.TypeFor[apiextensionsv1.JSON]():                             "raw",
	reflect.TypeFor[apiextensionsv1beta1.JSON]():                        "raw",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrBool]():            "schemaorbool",
	reflect.TypeFor[apiextensionsv1beta1.JSONSchemaPropsOrBool]():       "schemaorbool",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrArray]():           "schemaorlist",
	reflect.TypeFor[apiextensionsv1beta1.JSONSchemaPropsOrArray]():      "schemaorlist",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrStringArray]():     "schemaorstrings",
	reflect.TypeFor[apiextensionsv1beta1.JSONSchemaPropsOrStringArray](): "schemaorstrings",
}

// Types the engine looks for inside objects; the bit is their place in the masks.
var wanted = map[reflect.Type]int{
	reflect.TypeFor[corev1.Container]():         1,
	reflect.TypeFor[corev1.EnvVar]():            2,
	reflect.TypeFor[corev1.ImageVolumeSource](): 4,
	reflect.TypeFor[corev1.PodTemplateSpec]():   8,
}

type generator struct {
	ids    map[reflect.Type]int
	order  []reflect.Type
	status map[reflect.Type]bool
}

func (g *generator) id(t reflect.Type) int {
	if id, ok := g.ids[t]; ok {
		return id
	}
	id := len(g.order)
	g.ids[t] = id
	g.order = append(g.order, t)
	return id
}

type field struct {
	name, goName, embedded string
	typ                    reflect.Type
	omitEmpty              bool
}

func fields(t reflect.Type, embedded string) []field {
	var result []field
	for i := range t.NumField() {
		f := t.Field(i)
		parts := strings.Split(f.Tag.Get("json"), ",")
		if f.Anonymous && parts[0] == "" {
			path := f.Name
			if embedded != "" {
				path = embedded + "." + f.Name
			}
			result = append(result, fields(f.Type, path)...)
			continue
		}
		if !f.IsExported() || parts[0] == "-" || parts[0] == "" {
			panic("unexpected field " + t.String() + "." + f.Name)
		}
		omit := false
		for _, option := range parts[1:] {
			omit = omit || option == "omitempty"
		}
		result = append(result, field{parts[0], f.Name, embedded, f.Type, omit})
	}
	return result
}

// reach tells which wanted types can be found inside t, through structs,
// pointers and lists.
func reach(t reflect.Type, seen map[reflect.Type]bool) int {
	if seen[t] {
		return 0
	}
	seen[t] = true
	switch {
	case special[t] != "":
		return 0
	case t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice:
		return reach(t.Elem(), seen)
	case t.Kind() == reflect.Struct:
		mask := wanted[t]
		for _, f := range fields(t, "") {
			mask |= reach(f.typ, seen)
		}
		return mask
	}
	return 0
}

func (g *generator) describe(t reflect.Type) string {
	if name, ok := special[t]; ok {
		switch name {
		case "schemaorbool":
			schema, _ := t.FieldByName("Schema")
			return fmt.Sprintf("%s %s %d", name, t, g.id(schema.Type.Elem()))
		case "schemaorlist":
			schema, _ := t.FieldByName("Schema")
			list, _ := t.FieldByName("JSONSchemas")
			return fmt.Sprintf("%s %s %d %d", name, t, g.id(schema.Type.Elem()), g.id(list.Type))
		case "schemaorstrings":
			schema, _ := t.FieldByName("Schema")
			list, _ := t.FieldByName("Property")
			return fmt.Sprintf("%s %s %d %d", name, t, g.id(schema.Type.Elem()), g.id(list.Type))
		}
		return name + " " + t.String()
	}
	switch t.Kind() {
	case reflect.Pointer:
		return fmt.Sprintf("pointer %s %d", t, g.id(t.Elem()))
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes " + t.String()
		}
		return fmt.Sprintf("list %s %d", t, g.id(t.Elem()))
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			panic("unexpected map key in " + t.String())
		}
		return fmt.Sprintf("map %s %d", t, g.id(t.Elem()))
	case reflect.String, reflect.Bool, reflect.Int32, reflect.Int64, reflect.Float64:
		return t.Kind().String() + " " + t.String()
	case reflect.Struct:
		return g.describeStruct(t)
	}
	panic("unexpected type " + t.String())
}

func (g *generator) describeStruct(t reflect.Type) string {
	var b strings.Builder
	fmt.Fprintf(&b, "struct %s %d %d", t, wanted[t], reach(t, map[reflect.Type]bool{}))
	for _, f := range fields(t, "") {
		b.WriteString(" " + f.name)
		if f.goName != strings.ToUpper(f.name[:1])+f.name[1:] {
			b.WriteString("=" + f.goName)
		}
		if f.embedded != "" {
			b.WriteString("/" + f.embedded)
		}
		mark := ""
		if f.omitEmpty {
			mark = "?"
		}
		if g.status[f.typ] {
			mark += "!"
		}
		fmt.Fprintf(&b, ":%d%s", g.id(f.typ), mark)
	}
	return b.String()
}

func moduleVersion(path string) string {
	info, _ := debug.ReadBuildInfo()
	for _, dep := range info.Deps {
		if dep.Path == path {
			return dep.Version
		}
	}
	return "unknown"
}

func main() {
	for _, add := range []func(*runtime.Scheme) error{apiextensionsv1.AddToScheme, apiextensionsv1beta1.AddToScheme} {
		if err := add(scheme.Scheme); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	g := generator{ids: map[reflect.Type]int{}, status: map[reflect.Type]bool{}}
	var kinds []string
	types := map[string]reflect.Type{}
	for gvk, t := range scheme.Scheme.AllKnownTypes() {
		if f, ok := t.FieldByName("Status"); ok && f.Type.Kind() != reflect.String {
			g.status[f.Type] = true
		}
		if gvk.Version != runtime.APIVersionInternal {
			key := gvk.GroupVersion().String() + " " + gvk.Kind
			kinds = append(kinds, key)
			types[key] = t
		}
	}
	sort.Strings(kinds)
	fmt.Printf("# The shapes of the built-in Kubernetes kinds, made by schema-gen/main.go from k8s.io/api %s\n", moduleVersion("k8s.io/api"))
	fmt.Printf("# and k8s.io/apiextensions-apiserver %s. First the kinds, then, after a blank line, the types by number.\n", moduleVersion("k8s.io/apiextensions-apiserver"))
	for _, kind := range kinds {
		fmt.Printf("%s %d\n", kind, g.id(types[kind]))
	}
	fmt.Println()
	for i := 0; i < len(g.order); i++ {
		fmt.Println(g.describe(g.order[i]))
	}
}

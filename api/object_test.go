package api

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzPlainObjects checks that reading a plain object at once agrees with encoding/json, for arbitrary bytes.
func FuzzPlainObjects(f *testing.F) {
	for _, text := range []string{
		` {"a": "b", "c" :null,"d":true , "e":false, "a":"again"} ` + "\r\n\t", `{}`, `{ }`,
		`{"":{}, "a":[], "b":[ ], "c":[[1, "x"],{"y":{"z":2},"z":[]}]}`,
		`{"a":0,"b":-1.50,"c":1e9,"d":2E-3,"e":-0.1e+2}`, `{"a":"\"\\\/\b\f\n\r\té"}`, `{"a":"\ud83d\ude00"}`,
		`{"\u0061":1}`,
		`{"a":01}`, `{"a":1.}`, `{"a":.5}`, `{"a":+1}`, `{"a":-}`, `{"a":1e}`, `{"a":tru}`, `{"a":nulls}`, `{"a":"\x"}`,
		`{"a":"\u12g4"}`, `{"a":"\u12`,
		"{\"a\":\"\n\"}", "{\"a\":\"\xff\"}", "{\"a\":\"\x00\"}", "{\"a\":1\x00}", `{"a":1,}`, `{"a" 1}`,
		`{"a":1 "b":2}`, `{,}`, `{"a":[1,]}`, `{"a":[1}`, `{"a":{"b":1]}`, `{"a":{1:2}}`,
		`{"a":1`, `{"a":"x`, `{"a"`, `{`, `[]`, ``, `{} {}`, `{}x`, `{"a":1}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		plain, isPlain := splitPlain(text)
		if !isPlain {
			return
		}
		want, err := splitWithEncodingJSON(text, "")
		if err != nil {
			t.Fatalf("%q is not valid: %v", text, err)
		}
		if diff := cmp.Diff(want, plain, cmp.AllowUnexported(Value{})); diff != "" {
			t.Fatalf("the members of %q differ (-encoding/json +plain):\n%s", text, diff)
		}
		for _, m := range plain {
			var got, want string
			problem := m.Value.Text(&got)
			if isString := json.Unmarshal(m.Value.json, &want) == nil &&
				!m.Value.IsNull(); isString != (problem == "") || got != want {
				t.Fatalf("the text of %s is %q, %q, want %q", m.Value.json, got, problem, want)
			}
		}
	})
}

// Texts that perksd and other programs write must not need a second look.
func TestWhatIsUsualIsPlain(t *testing.T) {
	for _, text := range []string{
		`{"id":"a","title":"Tea \"for\" two\n","city":"Bath","lat":51.38,"lng":-2.36e0,"stock":null,` +
			`"images":["https://img.example/1.png"]}` + "\n",
		`{ "a" : "Zürich", "b" : "é", "c" : { "d" : [ true , false ] } }`, `{}`,
		`{"a":` + strings.Repeat("[", maxPlainDepth-1) + strings.Repeat("]", maxPlainDepth-1) + `}`,
	} {
		if _, isPlain := splitPlain([]byte(text)); !isPlain {
			t.Errorf("%s is not plain", text)
		}
	}
}

func TestAShortAndALongListFindRepeatedNames(t *testing.T) {
	for _, length := range []int{1, maxShortList, maxShortList + 1, 3 * maxShortList} {
		var list members
		for i := range 2 * length {
			list.add(Member{Name: strings.Repeat("x", i%length)})
		}
		for i, m := range list.list {
			if !m.Repeated || len(m.Name) != i || len(list.list) != length {
				t.Errorf("of %d names, number %d of %d is %+v", length, i, len(list.list), m)
			}
		}
	}
}

package web

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/tool/tooltest"
)

const springfields = `{"results":[
{"name":"Springfield","latitude":39.80,"longitude":-89.64,"country":"United States","country_code":"US","admin1":"Illinois","admin2":"Sangamon"},
{"name":"Springfield","latitude":42.10,"longitude":-72.58,"country":"United States","country_code":"US","admin1":"Massachusetts"},
{"name":"Springfield","latitude":-43.33,"longitude":171.93,"country":"New Zealand","country_code":"NZ","admin1":"Canterbury\u202e"},
{"name":"Springfield Gardens","latitude":40.66,"longitude":-73.76,"country":"United States","country_code":"US","admin1":"New York"},
{"name":"Nowhere","country":"Atlantis"}]}`

func outlookOf(now time.Time) string {
	return fmt.Sprintf(`{"timezone":"America/Chicago","utc_offset_seconds":-21600,
"current":{"time":%q,"temperature_2m":-0.4,"apparent_temperature":-5.1,"relative_humidity_2m":87,"precipitation":0.2,"weather_code":61,"wind_speed_10m":14.2,"wind_direction_10m":225,"wind_gusts_10m":30.1},
"daily":{"time":["2026-11-30","2026-12-01","bad"],"weather_code":[61,null,3],"temperature_2m_min":[-3.2,1,2],"temperature_2m_max":[4.6,5],"precipitation_sum":[4.2,0],
"precipitation_probability_max":[80,null],"wind_speed_10m_max":[30,12],"sunrise":["2026-11-30T07:02"],"sunset":["2026-11-30T16:33"]}}`,
		now.In(time.FixedZone("", -21600)).Format("2006-01-02T15:04"))
}

func TestWeather(t *testing.T) {
	var asked []string
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Query().Get("name")+r.URL.Query().Get("latitude")+" "+r.URL.Query().Get("forecast_days"))
		if r.URL.Path == "/v1/search" {
			fmt.Fprint(w, springfields)
			return
		}
		fmt.Fprint(w, outlookOf(time.Now()))
	})
	b := tooltest.New(t, All(Deps{Services: map[string]string{atGeocoding: at, atForecast: at}})...)
	r := b.Run(t, "weather", `{"place":"Springfield"}`)
	for _, want := range []string{
		"Weather in Springfield, Illinois, United States (39.80, -89.64)", "local (America/Chicago, UTC-06:00)", "light rain, 0 °C (31 °F), feels like -5 °C (23 °F)",
		"0.2 mm", "humidity 87 %", "wind 14 km/h from the south-west, gusts 30 km/h", "\nMon 30 Nov: light rain, -3 °C (26 °F) to 5 °C (40 °F), 4.2 mm of rain or snow (chance 80 %), wind up to 30 km/h, sun from 07:02 to 16:33",
		"\nTue 1 Dec: sky unknown, 1 °C", "Other places of that name: Springfield, Massachusetts, United States; Springfield, Canterbury, New Zealand.",
	} {
		if !strings.Contains(r.Text, want) {
			t.Errorf("%q is missing in\n%s", want, r.Text)
		}
	}
	if r.Outcome != jackline.OK || r.Source != jackline.Outside || strings.Contains(r.Text, "bad") || strings.Contains(r.Text, "Gardens") || strings.Contains(r.Text, "not of now") {
		t.Errorf("%s %s", r.Outcome, r.Text)
	}
	for place, want := range map[string]string{
		"Springfield, MA": "Massachusetts", "springfield, new zealand": "Canterbury", "Springfield, US": "Illinois", "Springfield, Mass": "Massachusetts",
		"Springfield, Illinois, USA": "Illinois", "Springfield, NZ": "Canterbury", "Springfield Gardens": "Springfield Gardens, New York", "10.5, -20": "coordinates (10.50, -20.00)",
		"Springfield, France": "was not found there. Places of that name: Springfield, Illinois", "Springfield, UK": "was not found there",
	} {
		r := b.Run(t, "weather", map[string]any{"place": place, "days": 99})
		head, _, _ := strings.Cut(r.Text, "\n")
		if !strings.Contains(head, want) {
			t.Errorf("%s: %s", place, head)
		}
	}
	if asked[1] != "39.8000 3" || !slices.Contains(asked, "39.8000 7") {
		t.Errorf("%q", asked)
	}
}

// There is weather or a failure that says that there is none; never anything between.
func TestWeatherFailures(t *testing.T) {
	good, old := says(200, "application/json", springfields), outlookOf(time.Now().Add(-26*time.Hour))
	for name, c := range map[string]struct {
		places, forecast http.HandlerFunc
		say              string
		ok               bool
	}{
		"no such place": {says(200, "application/json", `{"generationtime_ms":0.5}`), nil, "No place called", false},
		"places html":   {says(200, "text/html", "<html>"), nil, "web page instead of data. The weather cannot be told now; do not guess", false},
		"places down":   {says(503, "text/html", ""), nil, "status 503", false},
		"no forecast":   {good, says(200, "application/json", "{}"), "without any weather", false},
		"other form":    {good, says(200, "application/json", `{"current":[]}`), "another form", false},
		"limit":         {good, says(429, "application/json", `{"error":true}`), "no more requests now", false},
		"old values":    {good, says(200, "application/json", old), "not of now but of", true},
	} {
		t.Run(name, func(t *testing.T) {
			d := Deps{Services: map[string]string{atGeocoding: serve(t, c.places), atForecast: "http://127.0.0.1:1"}}
			if c.forecast != nil {
				d.Services[atForecast] = serve(t, c.forecast)
			}
			r := tooltest.New(t, All(d)...).Run(t, "weather", `{"place":"Springfield"}`)
			if (r.Outcome == jackline.OK) != c.ok || !strings.Contains(r.Text, c.say) {
				t.Errorf("%s: %s", r.Outcome, r.Text)
			}
		})
	}
}

func TestWords(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{degrees(-0.2), "0 °C (32 °F)"}, {degrees(21.5), "22 °C (71 °F)"}, {compass(0), "north"}, {compass(359), "north"}, {compass(-90), "west"}, {compass(1e300), "changing sides"},
		{sky(nil), "sky unknown"}, {plain("a <b>b</b> &lt;c&gt; 1 < 2\x00\u202e", 40), "a b <c> 1 < 2"}, {plain("<script", 9), "<script"}, {plain(strings.Repeat("<", 2<<20), 3), "<<…"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

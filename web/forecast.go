package web

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackline-ai/jackline"
)

// An outlook is what the forecast service answers. A value that it does not have is nil, and is left out.
type outlook struct {
	Zone   string `json:"timezone"`
	Offset int    `json:"utc_offset_seconds"`
	Now    struct {
		Time     string
		Temp     *float64 `json:"temperature_2m"`
		Feels    *float64 `json:"apparent_temperature"`
		Humidity *float64 `json:"relative_humidity_2m"`
		Rain     *float64 `json:"precipitation"`
		Code     *int     `json:"weather_code"`
		Wind     *float64 `json:"wind_speed_10m"`
		From     *float64 `json:"wind_direction_10m"`
		Gusts    *float64 `json:"wind_gusts_10m"`
	} `json:"current"`
	Days struct {
		Time    []string
		Code    []*int     `json:"weather_code"`
		Low     []*float64 `json:"temperature_2m_min"`
		High    []*float64 `json:"temperature_2m_max"`
		Rain    []*float64 `json:"precipitation_sum"`
		Chance  []*float64 `json:"precipitation_probability_max"`
		Wind    []*float64 `json:"wind_speed_10m_max"`
		Sunrise []string
		Sunset  []string
	} `json:"daily"`
}

// forecast is the weather at a place in words: in the place's own time, with the time that the values are of.
func (d Deps) forecast(ctx context.Context, at spot, days int, now time.Time) (string, error) {
	v := url.Values{
		"latitude": {strconv.FormatFloat(*at.Latitude, 'f', 4, 64)}, "longitude": {strconv.FormatFloat(*at.Longitude, 'f', 4, 64)},
		"current": {"temperature_2m,apparent_temperature,relative_humidity_2m,precipitation,weather_code,wind_speed_10m,wind_direction_10m,wind_gusts_10m"},
		"daily": {"weather_code,temperature_2m_min,temperature_2m_max,precipitation_sum,precipitation_probability_max,wind_speed_10m_max," +
			"sunrise,sunset"},
		"timezone": {"auto"}, "forecast_days": {strconv.Itoa(days)},
	}
	var o outlook
	q := question{service: "Open-Meteo", url: d.origin(atForecast) + "/v1/forecast?" + v.Encode()}
	if err := d.answered(ctx, q, &o); err != nil {
		return "", live(err)
	}
	zone := time.FixedZone(plain(o.Zone, 40), min(max(o.Offset, -14*3600), 14*3600))
	when, err := time.ParseInLocation("2006-01-02T15:04", o.Now.Time, zone)
	if err != nil || o.Now.Temp == nil && len(o.Days.Time) == 0 {
		return "", live(jackline.E("web.forecast", jackline.Unavailable, err, "Open-Meteo answered without any weather for this place."))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Weather in %s (%.2f, %.2f) by Open-Meteo's models. Times are local (%s, UTC%s).\n", at, *at.Latitude, *at.Longitude, zone, when.Format("-07:00"))
	fmt.Fprintf(&b, "At %s: %s.\n", when.Format("Monday, 2 January 2006, 15:04"), o.current())
	if age := now.Sub(when); age > staleAfter || age < -staleAfter {
		fmt.Fprintf(&b, "[These values are not of now but of %s; say so.]\n", when.Format("2 January, 15:04"))
	}
	for k := range o.Days.Time[:min(len(o.Days.Time), days)] {
		date, err := time.Parse(time.DateOnly, o.Days.Time[k])
		if err != nil {
			continue
		}
		fmt.Fprintf(&b, "%s: %s\n", date.Format("Mon 2 Jan"), o.day(k))
	}
	return strings.TrimSpace(b.String()), nil
}

// current is what the weather is.
func (o outlook) current() string {
	n := o.Now
	parts := []string{sky(n.Code)}
	if n.Temp != nil {
		t := degrees(*n.Temp)
		if n.Feels != nil && math.Abs(*n.Feels-*n.Temp) >= 1 {
			t += ", feels like " + degrees(*n.Feels)
		}
		parts = append(parts, t)
	}
	if n.Rain != nil && *n.Rain > 0 {
		parts = append(parts, fmt.Sprintf("%.1f mm of rain or snow", *n.Rain))
	}
	if n.Humidity != nil {
		parts = append(parts, fmt.Sprintf("humidity %.0f %%", *n.Humidity))
	}
	if n.Wind != nil {
		w := fmt.Sprintf("wind %.0f km/h", *n.Wind)
		if n.From != nil {
			w += " from the " + compass(*n.From)
		}
		if n.Gusts != nil {
			w += fmt.Sprintf(", gusts %.0f km/h", *n.Gusts)
		}
		parts = append(parts, w)
	}
	return strings.Join(parts, ", ")
}

// day is what the weather of a day will be.
func (o outlook) day(k int) string {
	d := o.Days
	parts := []string{sky(nth(d.Code, k))}
	if low, high := nth(d.Low, k), nth(d.High, k); low != nil && high != nil {
		parts = append(parts, degrees(*low)+" to "+degrees(*high))
	}
	if rain := nth(d.Rain, k); rain != nil {
		r := fmt.Sprintf("%.1f mm of rain or snow", *rain)
		if chance := nth(d.Chance, k); chance != nil {
			r += fmt.Sprintf(" (chance %.0f %%)", *chance)
		}
		parts = append(parts, r)
	}
	if wind := nth(d.Wind, k); wind != nil {
		parts = append(parts, fmt.Sprintf("wind up to %.0f km/h", *wind))
	}
	if k < len(d.Sunrise) && k < len(d.Sunset) {
		rise, err := time.Parse("2006-01-02T15:04", d.Sunrise[k])
		set, err2 := time.Parse("2006-01-02T15:04", d.Sunset[k])
		if err == nil && err2 == nil {
			parts = append(parts, fmt.Sprintf("sun from %s to %s", rise.Format("15:04"), set.Format("15:04")))
		}
	}
	return strings.Join(parts, ", ")
}

func nth[T any](list []*T, k int) *T {
	if k < len(list) {
		return list[k]
	}
	return nil
}

// degrees writes a temperature for readers of either scale.
func degrees(c float64) string {
	return fmt.Sprintf("%.0f °C (%.0f °F)", whole(c), whole(c*9/5+32))
}

// whole rounds, without a minus in front of nothing.
func whole(x float64) float64 { return math.Round(x) + 0 }

// compass names where a wind comes from.
func compass(degrees float64) string {
	names := []string{"north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west"}
	if math.IsNaN(degrees) || math.Abs(degrees) > 1e6 {
		return "changing sides"
	}
	return names[((int(math.Round(degrees/45))%8)+8)%8]
}

// sky says what a code of the World Meteorological Organization (table 4677, as Open-Meteo uses it) stands for.
func sky(code *int) string {
	if code == nil {
		return "sky unknown"
	}
	if s, ok := skies[*code]; ok {
		return s
	}
	return "sky unknown"
}

var skies = map[int]string{
	0: "clear", 1: "mainly clear", 2: "partly cloudy", 3: "overcast", 45: "fog", 48: "freezing fog", 51: "light drizzle", 53: "drizzle",
	55: "heavy drizzle", 56: "light freezing drizzle", 57: "freezing drizzle", 61: "light rain", 63: "rain", 65: "heavy rain",
	66: "light freezing rain", 67: "freezing rain", 71: "light snow", 73: "snow", 75: "heavy snow", 77: "snow grains", 80: "light showers", 81: "showers",
	82: "violent showers", 85: "light snow showers", 86: "heavy snow showers", 95: "thunderstorm", 96: "thunderstorm with hail", 99: "thunderstorm with heavy hail",
}

// The distance of two places on a sphere of the Earth's mean radius, by the haversine formula.
#include <math.h>

double great_circle_km(double lat1, double lon1, double lat2, double lon2) {
    const double radius_km = 6371.0, to_radians = 3.14159265358979323846 / 180.0;
    double up = sin((lat2 - lat1) * to_radians / 2), across = sin((lon2 - lon1) * to_radians / 2);
    double part = up * up + cos(lat1 * to_radians) * cos(lat2 * to_radians) * across * across;
    return 2 * radius_km * asin(sqrt(part));
}

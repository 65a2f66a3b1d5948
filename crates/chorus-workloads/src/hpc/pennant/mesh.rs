//! The mesh of a quarter of a disc, in zones that are cut into sides.
//!
//! PENNANT's mesh of the kind `pie`: rings of zones around the origin, where the innermost ones are triangles that
//! share a point. A zone has a side for each of its edges: the triangle between the edge and the centre of the zone.
//! Zones and their sides are numbered ring by ring, the points of a zone counter-clockwise.

/// The most sides that a work-group computes, one per work-item.
pub const SIDES_PER_CHUNK: u32 = 128;
/// Stands for a side where there is none.
pub const NONE: u32 = u32::MAX;
/// Marks a point whose first coordinate stays zero.
pub const FIXED_X: u32 = 1;
/// Marks a point whose second coordinate stays zero.
pub const FIXED_Y: u32 = 2;

/// Zones, sides and points, and their connections.
#[derive(Clone, Debug, Default)]
pub struct Mesh {
    /// The places of the points.
    pub places: Vec<[f32; 2]>,
    /// Marks of the points that are fixed to an axis.
    pub fixed: Vec<u32>,
    /// The first and the second point of each side.
    pub side_points: Vec<[u32; 2]>,
    /// The zone of each side.
    pub side_zone: Vec<u32>,
    /// The first side of each zone, and the end of the last one.
    pub zone_sides: Vec<u32>,
    /// The first side whose first point is the point.
    pub first_side: Vec<u32>,
    /// The next side with the same first point.
    pub next_side: Vec<u32>,
    /// The first side of each chunk of whole zones, and the end of the last one.
    pub chunks: Vec<u32>,
}

impl Mesh {
    /// A quarter of a disc of radius 1 in `rings` rings of `sectors` zones.
    pub fn pie(sectors: u32, rings: u32) -> Mesh {
        let mut mesh = Mesh { places: vec![[0.0; 2]], fixed: vec![FIXED_X | FIXED_Y], ..Mesh::default() };
        for (ring, ray) in (1..=rings).flat_map(|ring| (0..=sectors).map(move |ray| (ring, ray))) {
            let (radius, angle) =
                (ring as f32 / rings as f32, ray as f32 / sectors as f32 * std::f32::consts::FRAC_PI_2);
            let fixed = if ray == 0 { FIXED_Y } else { 0 } | if ray == sectors { FIXED_X } else { 0 };
            mesh.places.push([
                if fixed & FIXED_X == 0 { radius * angle.cos() } else { 0.0 },
                if fixed & FIXED_Y == 0 { radius * angle.sin() } else { 0.0 },
            ]);
            mesh.fixed.push(fixed);
        }
        let point = |ring: u32, ray: u32| if ring == 0 { 0 } else { 1 + (ring - 1) * (sectors + 1) + ray };
        for (ring, sector) in (0..rings).flat_map(|ring| (0..sectors).map(move |sector| (ring, sector))) {
            let outer = [point(ring + 1, sector), point(ring + 1, sector + 1)];
            if ring == 0 {
                mesh.add_zone(&[0, outer[0], outer[1]]);
            } else {
                mesh.add_zone(&[point(ring, sector), outer[0], outer[1], point(ring, sector + 1)]);
            }
        }
        mesh.zone_sides.push(mesh.side_zone.len() as u32);
        mesh.connect();
        mesh
    }

    /// The number of points in the mesh.
    pub fn points(&self) -> u32 {
        self.places.len() as u32
    }

    /// The number of sides in the mesh.
    pub fn sides(&self) -> u32 {
        self.side_zone.len() as u32
    }

    /// The number of zones in the mesh.
    pub fn zones(&self) -> u32 {
        self.zone_sides.len() as u32 - 1
    }

    /// The sides of a zone.
    pub fn sides_of(&self, zone: u32) -> std::ops::Range<usize> {
        self.zone_sides[zone as usize] as usize..self.zone_sides[zone as usize + 1] as usize
    }

    fn add_zone(&mut self, points: &[u32]) {
        let zone = self.zone_sides.len() as u32;
        self.zone_sides.push(self.side_zone.len() as u32);
        for (index, &point) in points.iter().enumerate() {
            self.side_points.push([point, points[(index + 1) % points.len()]]);
            self.side_zone.push(zone);
        }
    }

    /// Finds the sides around each point, and cuts the sides into chunks.
    fn connect(&mut self) {
        self.first_side = vec![NONE; self.places.len()];
        self.next_side = vec![NONE; self.side_zone.len()];
        for (side, [point, _]) in self.side_points.iter().enumerate().rev() {
            self.next_side[side] = std::mem::replace(&mut self.first_side[*point as usize], side as u32);
        }
        self.chunks.push(0);
        for zone in 0..self.zones() as usize {
            let [start, end] = [self.zone_sides[zone], self.zone_sides[zone + 1]];
            if end - self.chunks[self.chunks.len() - 1] > SIDES_PER_CHUNK {
                self.chunks.push(start);
            }
        }
        self.chunks.push(self.side_zone.len() as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_counter_clockwise_and_fill_the_quarter() {
        let mesh = Mesh::pie(16, 8);
        let area = |zone: u32| -> f32 {
            let points =
                mesh.sides_of(zone).map(|side| mesh.side_points[side].map(|point| mesh.places[point as usize]));
            points.map(|[a, b]| 0.5 * (a[0] * b[1] - a[1] * b[0])).sum()
        };
        let areas: Vec<f32> = (0..mesh.zones()).map(area).collect();
        assert!(areas.iter().all(|&area| area > 0.0));
        assert!((areas.iter().sum::<f32>() - std::f32::consts::FRAC_PI_4).abs() < 0.01);
    }

    #[test]
    fn every_side_is_found_from_its_first_point() {
        let mesh = Mesh::pie(6, 5);
        let mut found = 0;
        for point in 0..mesh.points() {
            let mut side = mesh.first_side[point as usize];
            while side != NONE {
                assert_eq!(mesh.side_points[side as usize][0], point);
                (side, found) = (mesh.next_side[side as usize], found + 1);
            }
        }
        assert_eq!(found, mesh.sides());
    }

    #[test]
    fn chunks_are_of_whole_zones() {
        let mesh = Mesh::pie(48, 40);
        for chunk in mesh.chunks.windows(2) {
            assert!(chunk[0] < chunk[1] && chunk[1] - chunk[0] <= SIDES_PER_CHUNK);
            assert!(mesh.zone_sides.contains(&chunk[0]));
        }
    }
}

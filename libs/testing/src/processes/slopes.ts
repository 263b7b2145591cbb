/** A measurement at a time, in ms: values by name, such as `rss front_agent/1`. */
export interface Sample {
  at: number;
  values: Record<string, number>;
}

/** The course of one value. */
export interface Slope {
  name: string;
  first: number;
  last: number;
  /** The growth in an hour, by the method of least squares. */
  perHour: number;
  samples: number;
}

const hourMs = 3_600_000;

/** Returns the course of each value that was measured at least twice. */
export function slopesOf(samples: readonly Sample[]): Slope[] {
  const names = [...new Set(samples.flatMap(({ values }) => Object.keys(values)))].sort();
  return names.flatMap((name) => {
    const points = samples.flatMap(({ at, values }): [number, number][] => {
      const value = values[name];
      return value === undefined ? [] : [[at, value]];
    });
    const [first] = points;
    const last = points.at(-1);
    if (!first || !last || points.length < 2) return [];
    const perHour = leastSquares(points) * hourMs;
    return [{ name, first: first[1], last: last[1], perHour, samples: points.length }];
  });
}

/** Returns the slope of the line that fits the points best. */
function leastSquares(points: readonly [number, number][]): number {
  const mean = (at: 0 | 1) => points.reduce((sum, point) => sum + point[at], 0) / points.length;
  const [meanX, meanY] = [mean(0), mean(1)];
  const spread = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
  if (spread === 0) return 0;
  return points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0) / spread;
}

/** Returns the slopes as lines of a table. */
export function describeSlopes(slopes: readonly Slope[]): string {
  const round = (value: number) => String(Math.round(value * 10) / 10);
  return slopes
    .map(({ name, first, last, perHour, samples }) =>
      [
        `  ${name.padEnd(30)} first ${round(first).padStart(9)}  last ${round(last).padStart(9)}`,
        `  ${perHour >= 0 ? '+' : ''}${round(perHour)} in an hour (${samples} samples)`,
      ].join(''),
    )
    .join('\n');
}

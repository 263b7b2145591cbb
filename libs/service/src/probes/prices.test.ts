import { expect, it } from 'vitest';
import { priceTable } from './prices.ts';

const problemOf = (text: string) => priceTable.safeParse(text).error?.issues[0]?.message;

it('finds the price of a model by its name, or by the longest beginning', () => {
  const priceOf = priceTable.parse('flash=0.3/2.5/0.075, flash-*=1/2, flash-8*=3/4 ,*=9/10');
  expect(priceOf('flash')).toEqual({ input: 0.3, output: 2.5, cached: 0.075 });
  expect(priceOf('flash-001')).toEqual({ input: 1, output: 2, cached: 1 });
  expect(priceOf('flash-8b')).toEqual({ input: 3, output: 4, cached: 3 });
  expect(priceOf('pro')).toEqual({ input: 9, output: 10, cached: 9 });
  expect(priceTable.parse('flash=1/2')('pro')).toBeUndefined();
});

it.each([
  ['flash=1', '"flash=1"'],
  ['flash=1/2,', 'and not ""'],
  ['flash=1/-2', '"flash=1/-2"'],
  ['flash=1/2/3/4', '"flash=1/2/3/4"'],
  ['a*b=1/2', '"a*b=1/2"'],
  ['flash=1/2,flash=3/4', 'one price for flash'],
])('refuses the table %s and names its entry', (text, problem) => {
  expect(problemOf(text)).toContain(problem);
});

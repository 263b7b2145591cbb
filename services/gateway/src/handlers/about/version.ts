import type { Handler } from '../index.ts';

export const version: Handler = () => ({
  version: '0.1.0',
  language: 'typescript',
  languageVersion: process.version,
});

import { render } from 'preact';
import { App } from './app.tsx';
import './base.css';
import './controls.css';
import './map.css';
import './log.css';

const place = document.getElementById('page');
if (place) render(<App />, place);

/** Unique workspace names: teams from all over the world, in many languages and scripts. */
export const WORKSPACE_NAMES = split(`
  Atelier Nord | Product Discovery | Ångström Labs | Ποσειδών Ναυτιλιακή | Кухня идей | 設計工作室 |
  فريق التصميم | צוות המוצר | デザイン道場 | 서울 디자인 랩 | हिमालय डिज़ाइन | ทีมสร้างสรรค์ |
  🌊 Ocean Cleanup Planning | Q | Retrospectives | Łódź Makerspace | Service Design Guild |
  Crème Brûlée Collective | Straße 14 | Strategy & Foresight |
  Municipality of Aarhus – Citizen Participation, Mobility and Climate Adaptation 2030 |
  İstanbul Atölyesi | Đà Nẵng Sprint | Школа дизайна | Київська майстерня | Αρχιτεκτονική Ομάδα |
  東京企画部 | 上海产品组 | 臺北創意中心 | مختبر الابتكار | מעבדת חדשנות | 한강 리서치 | मुंबई कार्यशाला | บ้านไอเดีย |
  Onboarding | Field Notes | Nightingale Hospital – Patient Journeys | Kōwhai Collective |
  Øresund Bridge Works | Señal y Ruido | São Paulo Innovation Hub | Český Dům | Göteborg Sjöfart |
  Ħal Tarxien Studio | Þingvellir | Research Ops | Design Systems | Platform Team |
  Customer Success EMEA | Growth Experiments | Annual Planning 2024 | Annual Planning 2025 |
  Learning & Development | People Team | Brand Refresh | 🚀 Launchpad | 🎨 Colour & Type |
  👩‍🚀 Space Camp | Tiny | Workshop Library | Facilitators’ Guild | Agile Coaching Circle |
  The Very Patient Committee for the Renaming of Meeting Rooms, Corridors and Stairwells |
  Мастерская будущего | Софийски дизайн център | Београдска радионица | Θεσσαλονίκη Lab |
  Ζωγραφική & Χαρτί | البيت الأخضر | شبكة المعلمين | گروه طراحی تهران | ستوديو بيروت | תל אביב סטודיו |
  ירושלים – תכנון עירוני | 京都ワークショップ | さくら計画 | ひらめき研究所 | カスタマーサクセス | 北京设计周 | 深圳硬件实验室 | 香港城市研究 |
  부산 해양 프로젝트 | 제주 워크숍 | 한글 타이포그래피 | दिल्ली नवाचार | बेंगलुरु उत्पाद टीम | গ্রামীণ নকশা |
  தமிழ் வடிவமைப்பு | กรุงเทพ สตูดิโอ | เชียงใหม่ รีทรีต | ქართული დიზაინი | Հայ Ստուդիա | ስራ ቦታ |
  Wellington Harbour Trust | Lagos Fintech Lab | Nairobi Data Kitchen | Accra Urban Lab |
  Kigali Health Mapping | Casablanca Créative | Montréal – Équipe Produit | Québec Services numériques |
  Bogotá Ciudad Abierta | Lima Co-creación | Buenos Aires Taller | Ciudad de México: Movilidad |
  Santiago Prototipos | Madrid Cocina | València Platja | Lisboa Oficina | Porto Ribeira |
  Paris – Direction de l’innovation | Lyon Confluence | Zürich Werkstatt | Münchner Kreis |
  Berlin Mitte | Wien Zukunftsbüro | Amsterdam Waterworks | Rotterdam Haven | Gent Ateliers |
  København By & Havn | Oslo Fjordkontor | Stockholm Serviceverkstad | Helsinki Palvelumuotoilu |
  Tallinn e-Lab | Rīga Jūra | Vilniaus dirbtuvės | Kraków Pracownia | Budapesti Műhely |
  București Atelier | Zagreb Radionica | Ljubljana Delavnica | Bratislava Dielňa | Reykjavík Hugmyndir |
  Dublin Docklands | Glasgow Service Jam | Bristol Maker Lab | Cardiff – Gweithdy |
  Boston Biotech Mapping | Chicago Civic Lab | Oakland Commons | Vancouver Shoreline | Honolulu Hui |
  Sydney Systems | Melbourne Laneways | Singapore – Whole-of-Journey | Jakarta Kolaborasi |
  Manila Bayanihan | Hà Nội Ý Tưởng | "Quotes", <Tags> & Other Punctuation | Project =Mercury
`);

/** Workspace descriptions. Several descriptions are empty, because many workspaces have no description. */
export const WORKSPACE_DESCRIPTIONS: readonly string[] = [
  '',
  '',
  '',
  'Where the whole team thinks out loud.',
  'Everything from first sketch to launch.',
  'Workshops, retrospectives and the odd doodle.',
  'Planning, quarter by quarter.',
  'For partners and clients. Please keep it tidy.',
  'Archive from 2019 to 2022. Access on request.',
  'Notre espace de travail commun.',
  'Alles, was wir gemeinsam planen.',
  'Un lugar para pensar juntos.',
  'みんなで考えるための場所。',
  '我们一起思考的地方。',
  '함께 생각하는 공간',
  'مساحة للتفكير معًا',
  'Место, где мы думаем вместе.',
  'This workspace holds the journey maps, service blueprints, interview notes and synthesis of eleven research rounds. They are kept together so that new members can follow how each decision was made.',
];

export const ROOM_NAMES = split(`
  Welcome | Weekly stand-up | Retrospectives | Roadmap | User research | Journey maps | Ideation |
  Sprint 1 | Sprint 2 | Sprint 3 | Design critique | Brand | Service blueprints | Interviews |
  Synthesis | Prototypes | Client workshops | Strategy | Kick-offs | Templates | Sandbox | Onboarding |
  Accessibility | Data & metrics | Marketing | Sales enablement | Support insights | Engineering |
  Architecture | Security reviews | Hiring | Leadership | All hands | Off-site | Team health |
  Experiments | Pricing | Partnerships | Legal (confidential) | Budget | Mobile app | Website |
  Design system | Content | Localisation | Événements | Werkstatt | Taller | Идеи | Ιδέες | أفكار |
  רעיונות | 会議室 | アイデア | 아이디어 | विचार | ไอเดีย | 🎉 Celebrations | 🧪 Lab | 📚 Library | Year in review |
  Archive
`);

export const MURAL_TITLES = split(`
  Retrospective | Customer journey | Empathy map | Stakeholder map | Brainstorm | Affinity clusters |
  Service blueprint | Lean canvas | SWOT | Roadmap | Story map | How might we | Crazy eights |
  Dot voting | Assumptions & risks | Team charter | Kick-off | Persona | Interview notes | Synthesis |
  Prioritisation | Impact / effort | User flows | Wireframes | Moodboard | Icebreaker | Meeting notes |
  Decision log | Parcours client | Kundenreise | Mapa de empatía | Карта пути клиента |
  Χάρτης διαδρομής | رحلة العميل | מסע לקוח | カスタマージャーニー | 用户旅程 | 고객 여정 | ग्राहक यात्रा |
  เส้นทางลูกค้า | 🌱 Growing ideas | Untitled mural | Pre-mortem | Five whys | Timeline |
  Event storming | System map
`);

/** Names of people, each with a single-word given name. */
export const PEOPLE = split(`
  Amara Okafor | Linnea Sjöberg | Mateo Fuentes | Yuki Tanaka | Priya Raman | Noa Levi | Omar Haddad |
  Zofia Wiśniewska | Jun-ho Park | Eleni Papadaki | Дарья Соколова | Tomáš Dvořák | Mei Chen |
  Siobhán Ní Bhriain | Kwame Mensah | Chloé Lefèvre | Anan Suksai | Rangi Paewai
`);

function split(names: string): readonly string[] {
  return names.trim().split(/ \|\s+/);
}

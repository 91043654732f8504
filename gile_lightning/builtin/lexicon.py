"""The words of the built-in corpus: concepts, sentence patterns and word lists.

Everything here is data. `CONCEPTS` holds, facet by facet, the ideas which the headings name;
`PAIRS` says which facets combine into headings; the patterns hold `{slots}` that the generator
fills. Verbs are in the past tense or follow a modal verb, so that a pattern reads well with
singular and plural words alike.
"""

from typing import NamedTuple


class Concept(NamedTuple):
    """One idea: its heading, adjective, short definition, typical words and synonyms."""

    name: str
    attr: str
    gist: str
    words: tuple[str, ...]
    entries: tuple[str, ...] = ()


class Pair(NamedTuple):
    """A kind of two-concept heading: its facets, how many, heading forms and note patterns."""

    facets: tuple[str, str]
    number: int
    headings: tuple[str, ...]
    notes: tuple[str, ...]


def _c(name: str, attr: str, gist: str, words: str, entries: str = "") -> Concept:
    return Concept(
        name, attr, gist, tuple(words.split(", ")), tuple(entries.split("; ")) if entries else ()
    )


CONCEPTS: dict[str, tuple[Concept, ...]] = {
    "site": (
        _c("Liver", "Hepatic", "the large gland that makes bile and clears toxins",
           "liver, hepatocytes, bile flow, portal tracts, hepatic lobules, aminotransferases, "
           "Kupffer cells, biliary ducts", "Hepatic Gland"),
        _c("Kidney", "Renal", "the paired organ that filters blood into urine",
           "kidney, glomeruli, renal tubules, creatinine clearance, nephrons, podocytes, "
           "urinary albumin, renal cortex", "Kidneys"),
        _c("Heart", "Cardiac", "the muscular pump that drives blood round the body",
           "heart, myocardium, left ventricle, cardiomyocytes, ejection fraction, mitral valve, "
           "atrial rhythm, cardiac output", "Heart & Cardiac Chambers"),
        _c("Lung", "Pulmonary", "the airy organ in which blood takes up oxygen from breath",
           "lung, alveoli, bronchi, airway epithelium, pulmonary surfactant, vital capacity, "
           "breath sounds, pleura", "Lungs; Pulmonary Organ"),
        _c("Brain", "Cerebral", "the mass of neurons that governs thought and movement",
           "brain, cerebral cortex, neurons, hippocampus, astrocytes, white matter, synapses, "
           "cognitive scores", "Cerebrum"),
        _c("Skin", "Cutaneous", "the outer covering of the body with its hair and sweat glands",
           "skin, epidermis, dermis, keratinocytes, hair follicles, melanocytes, sweat glands, "
           "cutaneous lesions", "Integument"),
        _c("Stomach", "Gastric", "the pouch where food meets acid and pepsin",
           "stomach, gastric mucosa, parietal cells, gastric acid, pepsin, pylorus, "
           "gastric emptying, antrum"),
        _c("Intestines", "Intestinal", "the long tube that absorbs digested food",
           "intestine, villi, colon, enterocytes, gut barrier, ileum, crypt cells, "
           "intestinal absorption, stool samples", "Bowel; Gut"),
        _c("Pancreas", "Pancreatic", "the gland that releases digestive enzymes and islet hormones",
           "pancreas, islet cells, acinar cells, amylase, lipase, pancreatic duct, "
           "exocrine secretion"),
        _c("Spleen", "Splenic", "the organ that removes aged red cells and stores lymphocytes",
           "spleen, red pulp, white pulp, splenocytes, marginal zone, splenic weight, "
           "aged red cells"),
        _c("Bones", "Osseous", "the hard mineral frame that bears the weight of the body",
           "bone, osteoblasts, osteoclasts, bone mineral density, femur, trabeculae, "
           "cortical bone, vertebrae", "Bone Tissue; Skeleton"),
        _c("Joints", "Articular", "the places where two bones meet and move on cartilage",
           "joints, cartilage, synovial fluid, knee, chondrocytes, ligaments, hip joint, "
           "range of motion", "Articulations"),
        _c("Muscles", "Muscular", "the contractile tissue that moves the limbs",
           "skeletal muscle, muscle fibers, myosin, contraction force, quadriceps, "
           "satellite cells, sarcomeres, creatine kinase", "Muscle Tissue"),
        _c("Eye", "Ocular", "the organ of sight with its lens and light-sensing layer",
           "eye, retina, cornea, photoreceptors, intraocular pressure, lens, visual acuity, "
           "optic disc", "Eyes; Visual Organ"),
        _c("Ear", "Auditory", "the organ of hearing and of balance",
           "inner ear, cochlea, hair cells, hearing threshold, eardrum, auditory nerve, "
           "vestibular function, tympanic membrane", "Ears"),
        _c("Thyroid Gland", "Thyroidal", "the neck gland whose iodine hormones set metabolic rate",
           "thyroid, thyroxine, follicular cells, iodine uptake, thyrotropin, goiter, "
           "thyroid nodules"),
        _c("Adrenal Glands", "Adrenal", "the glands above the kidneys that release cortisol",
           "adrenal cortex, cortisol, aldosterone, adrenal medulla, catecholamines, epinephrine, "
           "zona glomerulosa"),
        _c("Urinary Bladder", "Vesical", "the hollow sac that stores and voids urine",
           "bladder, urothelium, detrusor, voiding pressure, urine volume, cystometry, "
           "continence", "Bladder"),
        _c("Prostate", "Prostatic", "the male gland below the bladder that adds fluid to semen",
           "prostate, seminal fluid, prostatic acini, stromal cells, prostate volume, "
           "serum antigen, urinary stream", "Prostate Gland"),
        _c("Uterus", "Uterine", "the hollow muscular organ in which a fetus grows",
           "uterus, endometrium, myometrium, cervix, uterine contractions, menstrual cycle, "
           "decidua", "Womb"),
        _c("Ovary", "Ovarian", "the female gland that ripens egg cells and makes hormones",
           "ovary, oocytes, follicles, granulosa cells, ovulation, corpus luteum, "
           "ovarian reserve", "Ovaries"),
        _c("Breast", "Mammary", "the gland that secretes milk after birth",
           "breast, mammary ducts, milk secretion, lobular epithelium, nipple, lactation, "
           "mammary stroma", "Mammary Gland"),
        _c("Blood Vessels", "Vascular", "the branching tubes that carry blood to the tissues",
           "arteries, endothelium, arterial wall, vascular smooth muscle, aorta, capillaries, "
           "veins, intima", "Vasculature"),
        _c("Bone Marrow", "Medullary", "the soft core of bones that forms blood cells",
           "bone marrow, stem cells, hematopoiesis, erythroid precursors, megakaryocytes, "
           "marrow aspirates, progenitors"),
        _c("Peripheral Nerves", "Neural", "the cable-like axons that link the spine to the limbs",
           "peripheral nerve, axons, Schwann cells, myelin sheath, nerve conduction, "
           "sciatic nerve, dorsal root ganglia", "Nerve Trunks"),
    ),
    "condition": (
        _c("Fibrosis", "Fibrotic", "the laying down of scar tissue in place of working cells",
           "fibrosis, scarring, collagen deposition, myofibroblasts, extracellular matrix, "
           "stiffness, hydroxyproline", "Scarring"),
        _c("Inflammation", "Inflammatory", "the reaction of tissue to harm by swelling and heat",
           "inflammation, neutrophil infiltration, cytokine release, C-reactive protein, "
           "leukocytes, macrophage activation, interleukins", "Inflammatory Reaction"),
        _c("Ischemia", "Ischemic", "the lack of blood supply that starves cells of oxygen",
           "ischemia, reperfusion, infarct size, arterial occlusion, lactate accumulation, "
           "collateral flow, reduced blood supply"),
        _c("Hemorrhage", "Hemorrhagic", "the escape of blood from a damaged vessel",
           "bleeding, hemorrhage, blood loss, hematoma, transfusion need, coagulation defects, "
           "hemostasis", "Bleeding; Blood Loss"),
        _c("Thrombosis", "Thrombotic", "the forming of a clot inside a vessel",
           "thrombosis, clot formation, fibrin, platelet aggregation, embolism, D-dimer levels, "
           "occlusive clots", "Blood Clotting, Abnormal"),
        _c("Necrosis", "Necrotic", "the death of a patch of cells within living tissue",
           "necrosis, cell death, membrane leakage, necrotic foci, tissue loss, "
           "nuclear debris, gangrene", "Tissue Death"),
        _c("Atrophy", "Atrophic", "the wasting or shrinking of a tissue once full-sized",
           "atrophy, wasting, volume loss, thinning, shrinkage, disuse, proteolysis"),
        _c("Hypertrophy", "Hypertrophic", "the growth of an organ by swelling of its cells",
           "hypertrophy, enlargement, increased mass, wall thickness, cell size, overgrowth, "
           "pressure overload", "Enlargement"),
        _c("Neoplasms", "Neoplastic", "new and uncontrolled growth of abnormal cells",
           "tumor, carcinoma, malignant cells, tumor stage, neoplastic growth, cancer, oncogenes, "
           "tumor recurrence", "Tumors; Cancer"),
        _c("Metastasis", "Metastatic", "the spread of malignant cells to distant places",
           "metastases, tumor spread, lymph node involvement, invasion, distant lesions, "
           "circulating tumor cells, secondary deposits", "Metastases"),
        _c("Edema", "Edematous", "the gathering of excess water between the cells",
           "edema, swelling, fluid retention, interstitial fluid, capillary leak, water content, "
           "pitting", "Swelling"),
        _c("Abscess", "Suppurative", "a walled pocket of pus in the tissue",
           "abscess, pus, suppuration, purulent discharge, septic foci, fluctuance, "
           "loculated collections", "Abscesses"),
        _c("Ulcer", "Ulcerative", "an open sore where the surface lining is lost",
           "ulcers, erosions, mucosal breaks, ulcer healing, ulcer crater, epithelial loss, "
           "open sores"),
        _c("Calculi", "Lithogenic", "stones of mineral salt that form in a duct or cavity",
           "calculi, stones, stone fragments, crystal growth, oxalate, lithiasis, stone burden",
           "Stones"),
        _c("Calcification", "Calcific", "the hardening of soft tissue by calcium salts",
           "calcification, calcium deposits, mineralized plaques, hydroxyapatite, "
           "calcified nodules, phosphate load, hardening"),
        _c("Rupture", "Ruptured", "the sudden tearing of an organ or its wall",
           "rupture, tears, wall stress, dehiscence, perforation, traumatic tearing, "
           "emergency repair", "Tearing"),
        _c("Obstruction", "Obstructive", "the blocking of a hollow passage",
           "obstruction, blockage, luminal narrowing, dilated segments, impaired drainage, "
           "passage block, obstructive episodes", "Blockage"),
        _c("Dysplasia", "Dysplastic", "disordered growth that may come before malignant change",
           "dysplasia, atypia, precursor lesions, disordered maturation, nuclear pleomorphism, "
           "mitotic figures, premalignant change"),
        _c("Autoimmunity", "Autoimmune", "an attack by the immune system on the body itself",
           "autoantibodies, autoimmunity, self-tolerance, T lymphocytes, immune complexes, "
           "autoreactive cells, complement activation", "Autoimmune Reaction"),
        _c("Oxidative Stress", "Oxidative", "more reactive oxygen than cells can quench",
           "oxidative stress, reactive oxygen species, lipid peroxidation, superoxide, "
           "glutathione, malondialdehyde, free radicals"),
        _c("Pain", "Painful", "the unpleasant sense of harm or soreness",
           "pain, pain scores, nociception, tenderness, allodynia, analgesic demand, soreness, "
           "visual analog scale", "Soreness"),
        _c("Degeneration", "Degenerative", "the slow loss of structure and function with time",
           "degeneration, progressive loss, degenerative change, wear, vacuolation, "
           "structural decline, protein aggregates"),
        _c("Hypoxia", "Hypoxic", "a shortage of oxygen in the tissue",
           "hypoxia, low oxygen tension, oxygen saturation, hypoxic exposure, altitude, "
           "anaerobic metabolism, desaturation", "Oxygen Shortage"),
        _c("Cysts", "Cystic", "closed sacs filled with fluid",
           "cysts, fluid-filled sacs, cyst wall, cystic expansion, cyst aspiration, septations, "
           "epithelial lining"),
        _c("Steatosis", "Steatotic", "the storing of surplus fat droplets inside cells",
           "steatosis, fat droplets, triglycerides, lipid storage, fatty change, free fatty acids, "
           "adipokines", "Fatty Change"),
    ),
    "drug": (
        _c("Insulin", "Insulin", "the hormone that moves glucose from blood into cells",
           "insulin, glucose uptake, glycemic control, insulin receptor, hyperinsulinemia, "
           "blood glucose, proinsulin"),
        _c("Corticosteroids", "Corticosteroid", "steroids that calm immune reactions",
           "corticosteroids, prednisone, dexamethasone, glucocorticoid receptor, steroid taper, "
           "methylprednisolone, immunosuppression", "Glucocorticoids"),
        _c("Statins", "Statin", "agents that block the making of cholesterol",
           "statins, cholesterol synthesis, LDL cholesterol, simvastatin, lipid lowering, "
           "mevalonate pathway, hyperlipidemia", "Cholesterol Synthesis Blockers"),
        _c("Heparin", "Heparin", "a sulfated sugar chain that keeps blood from clotting",
           "heparin, anticoagulation, antithrombin, factor Xa, partial thromboplastin time, "
           "low-molecular-weight heparin"),
        _c("Aspirin", "Aspirin", "a salicylate that eases fever and thins the blood",
           "aspirin, salicylates, cyclooxygenase, prostaglandins, antiplatelet effect, "
           "thromboxane, fever relief", "Salicylate Tablets"),
        _c("Opioids", "Opioid", "poppy-like agents that dull suffering and may cause dependence",
           "opioids, morphine, mu receptors, naloxone, dependence, tolerance, fentanyl, withdrawal",
           "Opiate Agents"),
        _c("Beta Blockers", "Beta-Blocker", "agents that slow the pulse and ease the heart",
           "beta blockers, propranolol, heart rate reduction, adrenergic receptors, atenolol, "
           "sympathetic tone, bradycardia"),
        _c("Diuretics", "Diuretic", "agents that raise the output of salt and water",
           "diuretics, furosemide, sodium excretion, natriuresis, potassium loss, thiazides, "
           "diuresis", "Water Tablets"),
        _c("Estrogens", "Estrogen", "female sex steroids made from androgen precursors",
           "estrogens, estradiol, estrogen receptor, hormone replacement, aromatase, tamoxifen, "
           "menopausal symptoms"),
        _c("Androgens", "Androgen", "male sex steroids that build muscle and beard",
           "androgens, testosterone, androgen receptor, dihydrotestosterone, hypogonadism, "
           "virilization"),
        _c("Vitamin D", "Vitamin D", "a sunlight-made steroid that aids calcium absorption",
           "vitamin D, calcitriol, sunlight exposure, 25-hydroxyvitamin levels, rickets, "
           "calcium absorption, cholecalciferol"),
        _c("Iron", "Iron", "the metal that lets hemoglobin bind oxygen",
           "iron, ferritin, transferrin, hemoglobin, iron overload, anemia, hepcidin, chelation"),
        _c("Zinc", "Zinc", "a trace metal needed by many enzymes",
           "zinc, metallothionein, zinc supplements, trace metals, zinc finger proteins, "
           "zinc deficiency"),
        _c("Nicotine", "Nicotine", "the addictive alkaloid of tobacco leaf",
           "nicotine, tobacco smoke, cotinine, acetylcholine receptors, cigarettes, craving, "
           "nicotine patches"),
        _c("Ethanol", "Alcohol", "the intoxicating spirit of beer and wine",
           "ethanol, alcohol intake, acetaldehyde, drinking, blood alcohol, intoxication, "
           "alcohol dehydrogenase", "Alcohol, Drinking"),
        _c("Antioxidants", "Antioxidant", "compounds that quench free radicals",
           "antioxidants, ascorbic acid, tocopherol, catalase, polyphenols, radical scavenging, "
           "superoxide dismutase"),
        _c("Platinum Agents", "Platinum", "metal-based drugs that cross-link DNA in dividing cells",
           "cisplatin, platinum adducts, carboplatin, DNA cross-links, chemotherapy cycles, "
           "nephrotoxicity, cytotoxicity"),
        _c("Nitric Oxide", "Nitrergic", "a short-lived gas that relaxes smooth muscle",
           "nitric oxide, nitrate, vasodilation, guanylate cyclase, nitric oxide synthase, "
           "L-arginine, cyclic GMP"),
    ),
    "antibacterial": (
        _c("Penicillins", "Penicillin", "beta-lactam drugs first found in mold",
           "penicillin, amoxicillin, beta-lactam ring, beta-lactamase, ampicillin, "
           "penicillin-binding proteins, penicillin allergy"),
        _c("Cephalosporins", "Cephalosporin", "broad beta-lactam drugs given by injection",
           "cephalosporins, ceftriaxone, cefazolin, cephalexin, extended-spectrum activity, "
           "parenteral dosing"),
        _c("Macrolides", "Macrolide", "large-ring drugs that stall the ribosome",
           "macrolides, erythromycin, azithromycin, clarithromycin, ribosomal methylation, "
           "efflux genes", "Large-Ring Lactones"),
        _c("Quinolones", "Quinolone", "synthetic drugs that jam DNA gyrase",
           "quinolones, ciprofloxacin, DNA gyrase, levofloxacin, topoisomerase mutations, "
           "nalidixic acid"),
        _c("Aminoglycosides", "Aminoglycoside", "amino sugar drugs that may harm hearing",
           "aminoglycosides, gentamicin, tobramycin, streptomycin, trough levels, ototoxicity, "
           "amikacin"),
        _c("Tetracyclines", "Tetracycline", "four-ring drugs that stain growing teeth",
           "tetracyclines, doxycycline, minocycline, tooth staining, tetracycline genes, "
           "oral capsules"),
        _c("Glycopeptides", "Glycopeptide", "drugs that cap the building blocks of the cell wall",
           "glycopeptides, vancomycin, teicoplanin, cell wall synthesis, red man reaction, "
           "intravenous infusion"),
    ),
    "procedure": (
        _c("Transplantation", "Transplant", "the moving of an organ from a donor to a recipient",
           "transplantation, graft survival, donor organs, rejection episodes, recipients, "
           "allografts, cyclosporine", "Organ Grafting"),
        _c("Endoscopy", "Endoscopic", "a look inside the body through a flexible tube",
           "endoscopy, endoscopic view, fiberoptic scope, mucosal inspection, video capsule, "
           "endoscopists"),
        _c("Radiotherapy", "Radiation", "treatment with beams of ionizing rays",
           "radiotherapy, irradiation, fractionated doses, radiation field, gray units, "
           "beam planning, brachytherapy", "Radiation Treatment"),
        _c("Biopsy", "Bioptic", "the taking of a small piece of tissue for study",
           "biopsy, needle cores, histology, tissue specimens, aspiration samples, "
           "pathology review, sampling error"),
        _c("Catheterization", "Catheter", "the passing of a thin tube into a vessel or duct",
           "catheterization, catheter tip, guide wire, balloon inflation, sheath insertion, "
           "indwelling lines", "Tube Insertion"),
        _c("Laser Surgery", "Laser", "cutting or sealing by a narrow beam of light",
           "laser surgery, laser pulses, photocoagulation, wavelength, carbon dioxide laser, "
           "vaporization"),
        _c("Resection", "Resective", "the cutting out of part of an organ",
           "resection, surgical margins, excision, operative time, partial removal, stapling, "
           "open surgery", "Excision"),
        _c("Drainage", "Draining", "the letting out of fluid through a tube",
           "drainage, drain output, aspiration, tube placement, fluid evacuation, suction, "
           "percutaneous drains"),
        _c("Anesthesia", "Anesthetic", "the blunting of sense and awareness during an operation",
           "anesthesia, propofol, sevoflurane, nerve block, sedation, intubation, "
           "recovery room stay", "Anaesthesia"),
        _c("Rehabilitation", "Rehabilitative", "training that restores function after illness",
           "rehabilitation, physiotherapy, exercise training, gait, functional independence, "
           "training sessions, mobility"),
        _c("Electric Stimulation", "Electrostimulation", "the use of current to excite tissue",
           "electrical stimulation, electrodes, current pulses, pulse width, "
           "stimulation frequency, implanted stimulators, pacing"),
        _c("Ablation", "Ablative", "the destroying of a target by heat or cold",
           "ablation, radiofrequency energy, cryoprobes, heat lesions, target temperature, "
           "microwave probes, ablation zone"),
        _c("Stenting", "Stent", "the placing of a mesh tube that holds a passage open",
           "stents, stent placement, restenosis, drug-eluting mesh, patency, strut thickness, "
           "balloon expansion"),
        _c("Perfusion", "Perfusion", "the pumping of fluid through an organ",
           "perfusion, perfusate, machine pumping, flow rate, cold storage, oxygenated buffer, "
           "organ preservation"),
        _c("Prosthesis Implantation", "Prosthetic", "the fitting of an artificial part",
           "prosthesis, implants, artificial parts, loosening, titanium, revision surgery, "
           "implant survival", "Artificial Part Fitting"),
        _c("Embolization", "Embolic", "the plugging of a feeding vessel with particles or coils",
           "embolization, coils, microspheres, feeding vessel, angiographic success, "
           "particle size, gelatin sponge"),
        _c("Gene Therapy", "Gene-Transfer", "the bringing of a healthy gene into cells",
           "gene therapy, viral vectors, transgene expression, plasmids, adenoviral delivery, "
           "transduction, gene transfer", "Gene Transfer Treatment"),
        _c("Cell Therapy", "Cell-Based", "the infusion of living cells to mend tissue",
           "cell therapy, mesenchymal cells, engraftment, infused cells, cell tracking, "
           "regeneration, autologous cells"),
        _c("Reconstruction", "Reconstructive", "the rebuilding of a lost or malformed part",
           "reconstruction, flaps, cosmetic outcome, microsurgery, tissue transfer, donor site, "
           "suture technique"),
        _c("Mass Screening", "Screening", "the testing of healthy people for early disease",
           "screening, early detection, false positives, screening uptake, invitation letters, "
           "predictive value, test sensitivity", "Population Testing"),
    ),
    "bacteria": (
        _c("Staphylococci", "Staphylococcal", "round bacteria that grow in clusters like grapes",
           "staphylococci, S. aureus, coagulase, nasal carriage, methicillin resistance, "
           "enterotoxin, protein A"),
        _c("Streptococci", "Streptococcal", "round bacteria that grow in chains",
           "streptococci, S. pyogenes, streptolysin, sore throat, M protein, pneumococci, "
           "capsular serotypes"),
        _c("Mycobacteria", "Mycobacterial", "waxy acid-fast rods that cause tuberculosis",
           "mycobacteria, tuberculosis, acid-fast smears, isoniazid, granulomas, tuberculin, "
           "sputum culture", "Acid-Fast Bacilli"),
        _c("Salmonella", "Salmonella", "enteric rods spread by eggs and poultry",
           "salmonella, typhoid, poultry, foodborne outbreaks, eggs, enteric fever, "
           "pathogenicity islands"),
        _c("Escherichia", "Escherichia", "common gut rods that also infect urine",
           "E. coli, fimbriae, Shiga toxin, coliform counts, lipopolysaccharide, uropathogens, "
           "plasmid profiles"),
        _c("Pseudomonas", "Pseudomonal", "moist-loving rods that form slimy biofilm",
           "pseudomonas, biofilm, pyocyanin, alginate, ventilator tubing, quorum sensing, "
           "P. aeruginosa"),
        _c("Helicobacter", "Helicobacter", "spiral bacteria that live beneath mucus",
           "H. pylori, urease, urea breath test, eradication, cagA status, spiral bacteria, "
           "triple therapy"),
        _c("Chlamydia", "Chlamydial", "tiny bacteria that multiply only inside cells",
           "chlamydia, inclusion bodies, trachoma, elementary bodies, genital swabs, "
           "partner notification"),
    ),
    "pathogen": (
        _c("Influenza Viruses", "Influenza", "the viruses of winter flu",
           "influenza, hemagglutinin, neuraminidase, vaccine strains, antigenic drift, "
           "flu season, H1N1"),
        _c("Herpesviruses", "Herpetic", "enveloped viruses that hide for life in the host",
           "herpesvirus, latency, cytomegalovirus, reactivation, acyclovir, viral shedding, "
           "vesicles"),
        _c("Retroviruses", "Retroviral", "viruses that copy RNA into host DNA",
           "retroviruses, HIV, CD4 counts, viral load, reverse transcriptase, antiretrovirals, "
           "proviral DNA"),
        _c("Rotaviruses", "Rotaviral", "wheel-shaped viruses of childhood diarrhea",
           "rotavirus, watery diarrhea, oral rehydration, capsid proteins, VP7, dehydration, "
           "oral vaccine"),
        _c("Malaria Parasites", "Malarial", "protozoa carried by mosquitoes into red cells",
           "malaria, plasmodium, mosquitoes, parasitemia, chloroquine, bed nets, gametocytes"),
        _c("Helminths", "Helminthic", "worms that live on their host",
           "helminths, schistosomes, egg counts, hookworm, eosinophilia, praziquantel, larvae, "
           "snail hosts", "Worms, Parasitic"),
        _c("Candida", "Candidal", "yeast that causes thrush",
           "candida, yeast, hyphae, fluconazole, thrush, candidemia, fungal burden"),
        _c("Toxoplasma", "Toxoplasmic", "a protozoan shed by cats that forms tissue sacs",
           "toxoplasma, bradyzoites, cats, seroprevalence, tachyzoites, undercooked meat, "
           "IgG avidity"),
    ),
    "population": (
        _c("Newborns", "Neonatal", "babies of age < 28 days",
           "newborns, birth weight, gestational age, preterm babies, Apgar scores, neonatal unit, "
           "umbilical cord blood", "Neonates"),
        _c("Schoolchildren", "Pediatric", "girls and boys of school age",
           "schoolchildren, children, classrooms, parents, teachers, growth charts, "
           "school attendance", "Pupils"),
        _c("Teenagers", "Adolescent", "young people at the time of puberty",
           "teenagers, puberty, peers, high schools, adolescents, risk behavior, menarche",
           "Adolescents"),
        _c("Older Persons", "Geriatric", "people beyond working age, often frail",
           "older persons, frailty, nursing homes, falls, dementia, geriatric wards, "
           "polypharmacy", "Seniors"),
        _c("Expectant Mothers", "Gestational", "women who carry a child",
           "pregnancy, prenatal visits, trimester, maternal serum, preeclampsia, "
           "expectant mothers, labor onset"),
        _c("Nursing Staff", "Nursing", "those who care for patients at the bedside",
           "nurses, shift work, burnout, bedside care, ward staffing, job satisfaction, "
           "nursing education", "Nurses"),
        _c("Athletes", "Athletic", "people who train for sport and contest",
           "athletes, runners, maximal oxygen uptake, competition, football players, "
           "endurance training, sports injuries"),
        _c("Smokers", "Smoking", "people with a habit of lighting up",
           "smokers, pack-years, cessation, ex-smokers, passive smoke, quit attempts, "
           "carbon monoxide breath levels"),
        _c("Rural Residents", "Rural", "people who dwell in villages and farm the land",
           "villages, farmers, rural clinics, livestock, well water, remote districts, "
           "pesticide exposure", "Villagers"),
        _c("Migrants", "Migrant", "people who settled away from the land of their birth",
           "migrants, refugees, interpreters, acculturation, border camps, ethnic background, "
           "asylum seekers"),
        _c("Veterans", "Veteran", "former members of the armed forces",
           "veterans, combat exposure, military service, deployment, soldiers, "
           "posttraumatic stress, discharge records"),
        _c("Twins", "Twin", "siblings born of one pregnancy",
           "twins, monozygotic pairs, heritability, zygosity, co-twins, shared environment, "
           "concordance"),
        _c("Critically Ill Patients", "Critical-Care", "persons whose vital functions need support",
           "intensive care, mechanical ventilation, septic shock, organ support, APACHE scores, "
           "sedated patients, vasopressors"),
        _c("Diabetic Patients", "Diabetic", "persons with lasting high blood sugar",
           "diabetic patients, hyperglycemia, HbA1c, glucose monitoring, foot care, "
           "type 2 diabetes, metformin", "Diabetics"),
        _c("Inmates", "Correctional", "people held in prison or jail",
           "inmates, prisons, jail entry, correctional health, incarceration, parole, "
           "injection equipment", "Prisoners"),
    ),
    "method": (
        _c("Ultrasonography", "Sonographic", "imaging by echoes of high-pitched sound",
           "ultrasound, Doppler flow, echogenicity, transducers, sonograms, elastography, "
           "acoustic shadows", "Echography"),
        _c("Magnetic Resonance", "Magnetic", "imaging of protons in a strong magnet",
           "magnetic resonance, T2 signal, gadolinium, diffusion maps, relaxation times, "
           "3-T scanner, voxels", "MR Scanning"),
        _c("Computed Tomography", "Tomographic", "cross-section imaging from rotating X-rays",
           "computed tomography, CT slices, attenuation, contrast enhancement, radiation exposure, "
           "Hounsfield units, multidetector scans"),
        _c("Electron Microscopy", "Ultrastructural", "the viewing of fine detail with electrons",
           "electron microscopy, ultrastructure, electron-dense granules, thin sections, "
           "mitochondrial cristae, scanning micrographs"),
        _c("Immunoassay", "Immunochemical", "measurement with labeled antibodies",
           "immunoassay, ELISA, monoclonal antibodies, antigen binding, cross-reactivity, "
           "detection limit, optical density"),
        _c("Mass Spectrometry", "Spectrometric", "the weighing of ions to identify molecules",
           "mass spectrometry, peptide peaks, proteomics, ion fragments, MALDI spectra, "
           "protein identification"),
        _c("Expression Profiling", "Transcriptomic", "the reading of many transcripts at once",
           "microarrays, gene expression, mRNA levels, transcripts, cluster analysis, "
           "differential expression, RNA extraction"),
        _c("DNA Sequencing", "Genomic", "reading the order of bases in genes",
           "sequencing, polymorphisms, mutations, genotypes, single nucleotide variants, "
           "exons, phylogenetic trees", "Base Order Reading"),
        _c("Flow Cytometry", "Cytometric", "counting stained cells one by one in a stream",
           "flow cytometry, fluorescence intensity, surface markers, cell sorting, gated events, "
           "CD34 staining"),
        _c("Questionnaires", "Questionnaire", "sets of written queries put to people",
           "questionnaires, survey items, respondents, response rate, Likert scale, interviews, "
           "internal consistency", "Surveys"),
        _c("Mathematical Models", "Model-Based", "equations that mimic how a system behaves",
           "mathematical model, simulations, differential equations, parameter estimates, "
           "Monte Carlo runs, model fit"),
        _c("Chromatography", "Chromatographic", "the parting of mixtures on a column",
           "chromatography, HPLC, column elution, retention time, gradient separation, "
           "mobile phase, recovery of standards"),
        _c("Rodent Models", "Murine", "rats and mice bred to mirror illness",
           "mice, rats, knockout mice, wild-type littermates, Sprague-Dawley strain, "
           "intraperitoneal injection, murine model"),
        _c("Cell Culture", "Cultured", "the growing of cells in dishes",
           "cell culture, cell lines, culture medium, confluence, fetal serum, passages, "
           "primary cultures, cocultures", "Cell Growth in Dishes"),
    ),
}  # fmt: skip

# Headings in many articles and without a description: weight, then sentences that hint at them.
GENERAL_HEADINGS: dict[str, tuple[int, tuple[str, ...]]] = {
    "Human Subjects": (30, (
        "All participants gave written informed consent.",
        "The {n} patients came from {setting} in {place}.",
        "Human volunteers (n = {n}) agreed to take part.")),
    "Adults": (20, (
        "We enrolled {n} adults aged 18 to {age} years.",
        "The mean age of the adults was {age} years.")),
    "Women": (16, (
        "A total of {n} women took part.",
        "The share of female subjects was {pct}.")),
    "Men": (14, (
        "The sample held {n} men.",
        "Male subjects made up {pct} of the cohort.")),
    "Follow-Up": (11, (
        "Follow-up lasted {time}.",
        "At follow-up after {time}, {pct} were still under observation.")),
    "Laboratory Animals": (9, (
        "Animals were housed in pairs and observed for {time}.",
        "The animal committee of {place} approved the protocol.")),
    "In Vitro": (7, (
        "Further experiments took place in vitro.",
        "In vitro incubation lasted {time}.")),
    "Risk Estimates": (6, (
        "The adjusted odds ratio was {ci}.",
        "Relative risk reached {ci}.")),
    "Case Descriptions": (5, (
        "We report the case of one person aged {age} years.",
        "This case report describes an unusual course.")),
    "Chance Assignment": (4, (
        "Allocation was random and double-blind.",
        "Subjects were randomly assigned to {n} mg of {compound} or placebo.")),
}  # fmt: skip

_CHANGE_NOTES = (
    "{Bg}, here affecting {ag}. Typical findings include {v1}, {v2} and altered {w1}.",
    "A disorder of {ag}, marked by {bg}. It is known by {v1} and by changes in {w1} or {w2}.",
    "{Bg} within {w1} or {w2}. It may lead to {v1}, {v2} and loss of {aa} function.",
    "{ba} change in {ag}; {v1} and {v2} are found near {w1}.",
)
_TREATMENT_NOTES = (
    "{Bg}, as applied to {ag}. The outcome is judged by {v1}, {v2} and the state of {w1}.",
    "Use of {v1} for problems of {w1} or {w2}; that is, {bg}.",
    "{aa} uses of {bg}. Reports deal with {v1} and {v2}, and with effects on {w1}.",
)
_METHOD_NOTES = (
    "{Bg}, used to study {ag}. Work of this kind reports {v1} and {v2} for {w1} or {w2}.",
    "Assessment of {w1} and {w2} through {v1}. It rests on {bg}.",
    "{ba} study of {ag}, with attention to {v1}, {v2} and {w1}.",
)
_PEOPLE_NOTES = (
    "{Bg}, as met with among {ag}. Studies consider {v1} and {v2} together with {w1}.",
    "{ba} matters in {ag}, including {v1}, {v2} and their bond with {w1} or {w2}.",
    "Among {ag}, {bg}. Reports deal with {w1}, {v1} and {v2}.",
)
_INFECTION_NOTES = (
    "Disease caused by {ag} in {bg}. Signs include {w1}, {w2} and harm to {v1}.",
    "Invasion of {v1} or {v2} by {ag}; the diagnosis rests on {w1} and {w2}.",
    "{aa} disease affecting {bg}, with {w1} found in {v1} or {v2}.",
)
_DRUG_NOTES = (
    "Treatment of {ag} with {bg}. Trials compare {v1} and {v2} and record {w1}.",
    "The use of {bg} against {w1} and {w2}, judged by {v1} and {v2}.",
    "{ba} treatment where there is {ag}; it works through {v1} and eases {w1}.",
)
_EFFECT_NOTES = (
    "The action of {bg} on {ag}. It is measured by {v1}, {v2} and the response of {w1}.",
    "How {v1} and {v2} act upon {w1} or {w2}; that is, the work of {bg}.",
    "{ba} effects on {ag}, including those of {v1} on {w1} and {w2}.",
)
_RESISTANCE_NOTES = (
    "The power of {ag} to survive {bg}. It involves {w1}, {w2}, {v1} and {v2}.",
    "Loss of response of {w1} and {w2} to {v1}, one of the {bg}.",
    "{ba} failure against {ag}, as shown by {v1}, {v2} and tests of {w1}.",
)

PAIRS: tuple[Pair, ...] = (
    Pair(("site", "condition"), 150, ("{A} {b}", "{b}, {A}"), _CHANGE_NOTES),
    Pair(("site", "procedure"), 90, ("{A} {b}", "{b}, {A}"), _TREATMENT_NOTES),
    Pair(("site", "method"), 60, ("{A} {b}", "{b}, {A}"), _METHOD_NOTES),
    Pair(("site", "drug"), 50, ("{B} Effects, {A}", "{A} {B} Effects"), _EFFECT_NOTES),
    Pair(("condition", "drug"), 80, ("{B} Therapy of {a}", "{a}, {B} Therapy"), _DRUG_NOTES),
    Pair(("condition", "method"), 40, ("{b} of {a}", "{a}, {b}"), _METHOD_NOTES),
    Pair(("population", "condition"), 55, ("{b} in {a}", "{A} {b}"), _PEOPLE_NOTES),
    Pair(("population", "procedure"), 35, ("{b} in {a}", "{A} {b}"), _PEOPLE_NOTES),
    Pair(("bacteria", "antibacterial"), 30, ("{B} Resistance, {A}",), _RESISTANCE_NOTES),
    Pair(("bacteria", "site"), 35, ("{A} Infection, {B}", "{B} {A} Infection"), _INFECTION_NOTES),
    Pair(("pathogen", "site"), 35, ("{A} Disease, {B}", "{B} {A} Disease"), _INFECTION_NOTES),
)  # fmt: skip

# Descriptions of single concepts.
CONCEPT_NOTES: tuple[str, ...] = (
    "{Ag}. Related terms are {w1}, {w2} and {w3}, which are used in much the same sense.",
    "{Ag}; the heading also covers {w1}, {w2} and {w3} where no narrower heading exists.",
    "The general heading for {ag}. It includes {w1}, {w2}, {w3} and {w4}.",
    "{Ag}, together with {w1} and {w2}. Articles on {w3} or {w4} belong here as well.",
)

# Sentences of the abstract by part. {w} {x}: words of the concept in focus, {attr} its
# adjective, {gist} its definition; {v} {z}: words of the other concept of the same heading.
SENTENCES: dict[str, tuple[str, ...]] = {
    "background": (
        "Although {w} and {x} are often seen in {field}, little is known about {v}.",
        "{w} and {v} have long been a matter of {adj} debate in {field}.",
        "Previous work has linked {w} to {v}, but the {noun} of this {link} remains unclear.",
        "Both {w} and {v} may play an {role} role in {attr} {noun} through {gene}.",
        "Much attention has been given to {gist}, and less to {v}.",
        "The {noun} of {w} after {v} is still poorly understood.",
        "{attr} {noun} can be difficult to separate from {v}, above all in {setting}.",
        "Recent reports suggest that {w} might {act} {v} through {gene}.",
        "In {place}, {w} soon became a {adj} concern for those who deal with {v}.",
        "Current knowledge of {gist} rests on {adj} {evidence}.",
        "Several authors have described {w} alongside {v} and {x}.",
        "A {adj} {link} between {gene} and {w} has been proposed in patients with {v}.",
    ),
    "aim": (
        "We {studied} whether {w} could {act} {v} or {z} in {group}.",
        "The aim of this {design} was to assess {w} with respect to {v} and {z}.",
        "This {design} was undertaken to clarify the {noun} of {w} and {v}.",
        "Our purpose was to compare {w} with {x} and to relate both to {v}.",
        "We set out to determine how {compound} would {act} {w} and {v}.",
        "We therefore {studied} the {attr} {noun} of {v} using {tool}.",
        "To address this question, we {studied} {w}, {x} and {v} in {setting}.",
        "The present {design} tested the hypothesis that {v} would {act} {w}.",
    ),
    "methods": (
        "Data on {w} and {v} came from {setting} in {place} and covered {time}.",
        "We {studied} {w} in {n} subjects by means of {tool}.",
        "Samples (n = {n}) were graded for {w} and for {v} by {person}.",
        "{w} and {v} were recorded at baseline and again after {time} by {person}.",
        "Specimens with {w} were compared with {n} controls matched for {v}.",
        "A {design} from {place} contributed {n} records that mentioned {w}.",
        "We used {tool} to relate {w} to {x} and {v}.",
        "{compound} ({dose} mg/kg) was given for {time} before {w} or {v} had been measured.",
        "The strain {strain} served as reference when {w} and {v} were tested.",
        "Expression of {gene} was {studied} together with {w} and {v}.",
        "Inclusion required {attr} {noun}, {w} or {x}, and a known history of {v}.",
        "Differences in {w} were tested with {tool}, adjusting for {v}.",
    ),
    "results": (
        "{w} {changed} by {pct} ({p}), whereas {v} {changed} {adv}.",
        "In {n} of {m} cases, {w} and {v} were seen together with {adj} {noun}.",
        "{adv1}, {w} {changed} after {time} in {group}.",
        "{v} was {adv} higher in {group} than in those given {compound} ({num} vs. {num}; {p}).",
        "There was {adj} correlation between {w} and {v} (r = {r}, {p}).",
        "{compound} {acted} {w} in a dose-dependent manner, and {x} {changed} as well.",
        "No {adj} difference in {w} or {x} was found between {group} and the others ({p}).",
        "{attr} {noun} went from {num} to {num} as {v} {changed}.",
        "{gene} was {adv} expressed where {w} coexisted with {v} or {z} ({p}).",
        "{adv1}, {w}, {x} and {v} {changed} in {pct} of {group}.",
        "Multivariate analysis showed that {v} predicted {w} (odds ratio {ci}).",
        "The {strain} {noun} {acted} both {w} and {z} ({pct} and {pct}).",
        "Of note, {w} preceded {v} by {time} in {pct} of cases.",
        "Mean {noun} was {num} +/- {r} for {w} and {num} for {v}.",
    ),
    "conclusion": (
        "These {results} suggest that {w} may {act} {v} and thereby the {adj} {noun} of {x}.",
        "We conclude that {w} and {v} should be considered together in {field}.",
        "{adv1}, {w} can {act} {v}, although {adj} {evidence} must still be found.",
        "Our {results} support a {adj} {link} of {gene} with {w} and {v}.",
        "Further {design} data on {attr} {noun}, {w} and {v} are warranted in {field}.",
        "In conclusion, {v} may well {act} {w} in {group}.",
        "Thus {gene} may serve as a {adj} marker of {w} and {x}.",
        "{compound} deserves {adj} attention wherever {w} or {v} may be of concern.",
        "The {results} do not support routine use of {w} for {v}.",
    ),
}  # fmt: skip

# Sentences that only fit a facet; they stand in for some of the results.
FACET_SENTENCES: dict[str, tuple[str, ...]] = {
    "site": (
        "Changes in {w} extended to {x} in {pct} of specimens.",
        "Within {w}, {adj} {noun} was confined to regions close to {x}.",
        "{attr} tissue near {w} stained for {gene} {adv} more often ({p}).",
    ),
    "condition": (
        "Evidence of {w} was present in {n} of {m} specimens, most often with {x}.",
        "The severity of {w} {changed} with {x} under {compound} ({p}).",
        "Signs such as {w} and {x} {changed} within {time}.",
    ),
    "drug": (
        "Exposure to {w} (up to {dose} mg) {acted} {x} {adv}.",
        "The effect of {w} depended on {x} and on {compound}.",
        "Treatment aimed at {w} was tolerated by {pct} of {group}.",
    ),
    "antibacterial": (
        "Minimum inhibitory levels with {w} {changed} from {r} to {num} mg/L.",
        "Susceptibility to {w} was kept in {pct} of isolates such as {strain}.",
    ),
    "procedure": (
        "{w} took a median of {n} minutes, and {x} {changed} {adv}.",
        "Complications related to {w} arose in {pct} of cases seen in {place}.",
        "Success with respect to {w} and {x} reached {pct} at {time}.",
    ),
    "bacteria": (
        "Isolates linked to {w}, among them {strain}, made up {pct} of all cultures.",
        "Carriage of {strain}, defined by {w} and {x}, {changed} over {time}.",
    ),
    "pathogen": (
        "{w} and {x} were detected in {n} of {m} samples, mostly of type {strain}.",
        "Exposure marked by {w} {changed} between seasons ({p}).",
    ),
    "population": (
        "Factors such as {w} and {x} explained {pct} of the variance.",
        "When stratified by {w}, {noun} {changed} {adv} ({p}).",
    ),
    "method": (
        "Agreement between {w} and {x} was {adj} (kappa = {r}).",
        "As judged by {w}, {pct} of {group} had {adj} {noun}.",
    ),
}  # fmt: skip

TITLES: tuple[str, ...] = (
    "{A} and {b} in {attr} {noun}.",
    "{Design} of {a} and {b}.",
    "{A} in relation to {b}: a {design}.",
    "Effects of {compound} on {a} and {b}.",
    "{A}, {w} and {b}: {evidence} from {place}.",
    "Can {a} {act} {b}?",
    "The role of {gene} in {a} with {b}.",
    "{Adj} {noun} of {a} after {b}.",
    "{A} and {v}: {results} from {setting}.",
    "[{A} and {b} in {place}].",
)

# Orders of the parts: background, aim, methods, results, conclusion; F is a facet sentence.
PLANS: tuple[str, ...] = (
    "BAMRRC", "BAMFRRC", "BAMMRRFC", "BBAMMRRC", "AMMRFRRC", "BAMRRFRC", "BBAMMRFRC", "BAMMRFRRC",
    "BAMMRRFCC", "BBAMMRFRC",
)  # fmt: skip


def _split(words: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in words.split(","))


# General words. Earlier ones are drawn more often; those after "a" begin with a consonant.
WORDS: dict[str, tuple[str, ...]] = {
    "adj": _split(
        "significant, clear, strong, limited, marked, consistent, moderate, substantial, weak, "
        "direct, positive, negative, rapid, partial, persistent, novel, robust, relevant, severe, "
        "transient, complex, practical, gradual, distinct, possible, poor, remarkable, stable, "
        "better, mild, detailed, subtle, conflicting, striking, reliable, broad, minor, thorough, "
        "preliminary, sustained, tentative, profound, recurrent, plausible, "
        "sporadic, measurable, comparable, pronounced, negligible"),
    "noun": _split(
        "response, function, outcome, activity, pattern, change, development, level, damage, "
        "mechanism, growth, frequency, treatment, progression, management, behavior, involvement, "
        "quality, recovery, variation, balance, reserve, regulation, prognosis, expression, "
        "distribution, structure, course, turnover, susceptibility, burden, repair, signaling, "
        "sensitivity, adaptation, kinetics, morphology, status, load, capacity, impairment, "
        "tolerance, heterogeneity, remodeling, phenotype, homeostasis, timing, threshold, variant"),
    "adv": _split(
        "significantly, markedly, slightly, only modestly, consistently, substantially, rapidly, "
        "independently, gradually, strongly, somewhat, progressively, partially, notably, "
        "steadily, moderately, selectively, transiently, barely, uniformly, sharply, reproducibly, "
        "inversely, reversibly, disproportionately, predictably, spontaneously, appreciably"),
    "adv1": _split(
        "However, Overall, In addition, By contrast, Moreover, Interestingly, Surprisingly, "
        "Similarly, As expected, Furthermore, Nevertheless, On the other hand, Importantly, "
        "Conversely, Taken together, Unexpectedly, Likewise, Consequently"),
    "act": _split(
        "affect, reduce, influence, improve, increase, modify, predict, precede, worsen, prevent, "
        "reflect, limit, delay, promote, alter, mask, accompany, attenuate, aggravate, restore, "
        "modulate, mimic, trigger, outweigh, shape"),
    "acted": _split(
        "reduced, increased, affected, improved, altered, suppressed, enhanced, inhibited, "
        "attenuated, stimulated, prevented, restored, delayed, modulated, augmented, abolished, "
        "potentiated, blunted, normalized"),
    "changed": _split(
        "increased, decreased, improved, declined, rose, fell, persisted, worsened, "
        "remained stable, varied, doubled, recovered, diminished, progressed, resolved, "
        "fluctuated, plateaued, returned to baseline, tripled, regressed, deteriorated"),
    "studied": _split(
        "examined, studied, evaluated, investigated, assessed, compared, measured, reviewed, "
        "analyzed, quantified, explored, monitored, characterized, reassessed, scrutinized"),
    "group": _split(
        "the treated group, patients, both groups, the study group, younger subjects, survivors, "
        "those exposed, the intervention arm, most cases, nonresponders, the high-risk subgroup, "
        "the second cohort, carriers, the early phase, the active arm, responders, "
        "untreated cases, the validation set"),
    "setting": _split(
        "a university hospital, two regional centers, a national registry, primary care, "
        "a tertiary clinic, a district hospital, our department, an outpatient unit, "
        "four teaching hospitals, the community, a referral laboratory, a multicenter network, "
        "a mobile clinic, an insurance database, a field station"),
    "design": _split(
        "study, cohort study, randomized trial, prospective study, retrospective review, "
        "case-control study, pilot study, cross-sectional survey, controlled experiment, "
        "multicenter trial, meta-analysis, laboratory study, crossover trial, "
        "registry-based analysis, longitudinal study, comparative study, feasibility study"),
    "tool": _split(
        "logistic regression, standard protocols, a validated score, Student's t-test, "
        "analysis of variance, the Wilcoxon test, a stepwise procedure, Kaplan-Meier curves, "
        "serial measurements, a blinded protocol, Cox regression, routine records, "
        "the chi-square test, propensity scores, multilevel regression, paired comparisons, "
        "a semiautomated technique, Bland-Altman plots, generalized estimating equations"),
    "person": _split(
        "two observers, an independent panel, trained staff, one investigator, blinded readers, "
        "senior clinicians, three examiners, an experienced technician, the attending physician"),
    "field": _split(
        "clinical practice, medicine, public health, surgery, basic research, internal medicine, "
        "hospital care, pathology, pharmacology, preventive care, health policy, physiology, "
        "epidemiology, toxicology, molecular biology"),
    "evidence": _split(
        "evidence, data, observations, findings, experience, case series, trials, proof, figures, "
        "documentation, literature, registries"),
    "results": _split(
        "results, findings, data, observations, experiments, analyses, measurements, estimates, "
        "comparisons"),
    "link": _split(
        "association, relationship, link, interaction, connection, correlation, coupling, overlap, "
        "interplay, dependence"),
    "role": _split(
        "important, essential, active, early, independent, unrecognized, indirect, additional, "
        "ambiguous, underestimated, integral"),
}  # fmt: skip

JOURNALS: tuple[str, ...] = tuple(
    f"{kind} {field}"
    for field in (
        "General Physiology", "Clinical Practice", "Organ Disease", "Applied Therapeutics",
        "Experimental Pathology", "Community Health", "Surgical Technique", "Microbial Ecology",
        "Medical Imaging Notes", "Cell Function", "Drug Research",
    )
    for kind in ("Annals of Modern", "Open Archives of", "Northern Journal of", "Letters in")
)  # fmt: skip

# Syllables of invented names of genes, drugs, strains and places.
ONSETS: tuple[str, ...] = _split("b,br,c,d,dr,f,g,gl,h,k,kr,l,m,n,p,pl,r,s,st,t,tr,v,x,z")
NUCLEI: tuple[str, ...] = _split("a,e,i,o,u,ia,eo")
CODAS: tuple[str, ...] = _split("n,r,l,s,k,m,x,t,ld,rn")
DRUG_ENDINGS: tuple[str, ...] = _split("mine,xol,vir,stat,pril,zide,lone,cept,mycin,fen,dol,tinib")
PLACE_ENDINGS: tuple[str, ...] = _split("dora,burg,field,mar,ville,sk,stad,ria,ton,haven")
